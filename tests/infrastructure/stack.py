"""A translated template as a deployment with given parameters would see it.

References become text of one form, so that a golden value reads like the template:
``${Bucket.Arn}/skills/*`` whether it was written with Ref, GetAtt or Sub.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

NO_VALUE = "${AWS::NoValue}"
_REFERENCE = re.compile(r"\$\{([^!][^}]*)\}")


@dataclass(frozen=True)
class Stack:
    """One translated template with the values of its parameters.

    Args:
        template: What the SAM translator printed.
        given: Parameters that the deployment sets; the others have their defaults.
    """

    template: dict[str, Any]
    given: dict[str, str] = field(default_factory=dict)

    @property
    def resources(self) -> dict[str, Any]:
        """All resources, as translated: intrinsic functions are still in them."""
        resources: dict[str, Any] = self.template["Resources"]
        return resources

    def properties(self, logical_id: str) -> Any:
        """Properties of one resource, with conditions, parameters and references evaluated."""
        return self.evaluate(self.resources[logical_id]["Properties"])

    def of_type(self, resource_type: str) -> dict[str, Any]:
        """Evaluated properties of every resource of a CloudFormation type, by logical id."""
        return {
            logical_id: self.properties(logical_id)
            for logical_id, resource in self.resources.items()
            if resource["Type"] == resource_type
        }

    def failed_rules(self) -> list[str]:
        """Descriptions of the assertions that these parameters do not meet."""
        return [
            assertion["AssertDescription"]
            for rule in self.template["Rules"].values()
            if self.evaluate(rule.get("RuleCondition", True))
            for assertion in rule["Assertions"]
            if not self.evaluate(assertion["Assert"])
        ]

    def evaluate(self, value: Any) -> Any:
        """Replace intrinsic functions; what AWS::NoValue stands for is left out."""
        if isinstance(value, list):
            return [item for item in map(self.evaluate, value) if item != NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self._function(name, argument)
        evaluated = {key: self.evaluate(item) for key, item in value.items()}
        return {key: item for key, item in evaluated.items() if item != NO_VALUE}

    def _function(self, name: str, argument: Any) -> Any:
        match name:
            case "Ref":
                return self._reference(argument)
            case "Fn::GetAtt":
                return "${" + (argument if isinstance(argument, str) else ".".join(argument)) + "}"
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::If":
                chosen = argument[1] if self._condition(argument[0]) else argument[2]
                return self.evaluate(chosen)
            case "Fn::Equals":
                left, right = map(self.evaluate, argument)
                return left == right
            case "Fn::Not":
                return not self.evaluate(argument[0])
            case "Fn::Split":
                return str(self.evaluate(argument[1])).split(argument[0])
        raise AssertionError(f"{name} is not evaluated yet; add it where it is first used")

    def _condition(self, name: str) -> bool:
        return bool(self.evaluate(self.template["Conditions"][name]))

    def _reference(self, name: str) -> Any:
        parameter = self.template["Parameters"].get(name)
        if parameter is None:
            return "${" + name + "}"
        value = self.given.get(name, parameter["Default"])
        return str(value).split(",") if parameter["Type"] == "CommaDelimitedList" else value

    def _substitute(self, argument: Any) -> str:
        text, names = (argument, {}) if isinstance(argument, str) else argument

        def replacement(match: re.Match[str]) -> str:
            name = match[1]
            return str(self.evaluate(names[name]) if name in names else self._reference(name))

        return _REFERENCE.sub(replacement, text)


def references(value: Any) -> set[str]:
    """Names that a raw template value refers to by Ref, GetAtt, Sub or DependsOn."""
    if isinstance(value, list):
        return set().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for key, item in value.items():
        if key == "Ref":
            found.add(item)
        elif key == "Fn::GetAtt":
            found.add(item.split(".")[0] if isinstance(item, str) else item[0])
        elif key == "DependsOn":
            found.update([item] if isinstance(item, str) else item)
        elif key == "Fn::Sub":
            text, names = (item, {}) if isinstance(item, str) else item
            used = {name.split(".")[0] for name in _REFERENCE.findall(text)}
            found |= (used - set(names)) | references(names)
        else:
            found |= references(item)
    return found


def find_cycle(resources: dict[str, Any]) -> list[str]:
    """Return the logical ids of one dependency cycle, in order; empty where there is none."""
    needs = {name: sorted(references(body) & set(resources)) for name, body in resources.items()}
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        for other in needs[name]:
            if cycle := visit(other, [*path, name]):
                return cycle
        done.add(name)
        return []

    for name in needs:
        if cycle := visit(name, []):
            return cycle
    return []
