"""A project of two functions that the local stack can run: one for HTTP, one for events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_stack.environments import Launch
from local_stack.template import Function
from local_stack.virtualenvs import interpreter

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Colour: {Type: String, Default: green}
Globals:
  Function:
    CodeUri: code/
    Timeout: 2
    Environment: {Variables: {COLOUR: !Ref Colour, STORE: !Ref Store, ELSEWHERE: !ImportValue no}}
Resources:
  Caller:
    Type: AWS::Serverless::Function
    Properties:
      Handler: caller.lambda_handler
      Events:
        Echo: {Type: HttpApi, Properties: {Path: /echo, Method: ANY}}
        Named: {Type: HttpApi, Properties: {Path: '/things/{name}', Method: GET}}
        Fixed: {Type: HttpApi, Properties: {Path: /things/all, Method: get}}
        Part: {Type: HttpApi, Properties: {Path: '/things/{name}/parts/{part}', Method: GET}}
        Rest: {Type: HttpApi, Properties: {Path: '/files/{path+}', Method: GET}}
        Do: {Type: HttpApi, Properties: {Path: '/do/{what}', Method: POST}}
  Consumer:
    Type: AWS::Serverless::Function
    Properties:
      Handler: consumer.lambda_handler
      Events:
        Changes: {Type: SQS, Properties: {Queue: !GetAtt Queue.Arn, BatchSize: 10}}
        Hourly: {Type: Schedule, Properties: {Schedule: rate(1 hour), Input: '{"action":"tidy"}'}}
        Otherwise: {Type: HttpApi, Properties: {Path: $default, Method: ANY}}
  Queue:
    Type: AWS::SQS::Queue
    Properties: {VisibilityTimeout: 30, RedrivePolicy: {maxReceiveCount: 2}}
  Store:
    Type: AWS::S3::Bucket
    Properties:
      NotificationConfiguration:
        QueueConfigurations:
          - Event: s3:ObjectCreated:*
            Queue: !GetAtt Queue.Arn
            Filter: {S3Key: {Rules: [{Name: prefix, Value: inbox/}, {Name: suffix, Value: .txt}]}}
"""

CALLER = """\
import json, os, time

CALLS = 0

def lambda_handler(event, context):
    global CALLS
    CALLS += 1
    what = event.get("do") or event.get("pathParameters", {}).get("what", "echo")
    if what == "exit":
        os._exit(3)
    if what == "sleep":
        print("sleeping", flush=True)
        time.sleep(60)
    if what == "raise":
        raise ValueError("on purpose")
    if what == "large":
        return "x" * (7 * 1024 * 1024)
    if what == "nonsense":
        return {"statusCode": "many"}
    if what == "binary":
        return {"statusCode": 201, "headers": {"Content-Type": "image/x", "X-Many": "a,b"},
                "cookies": ["a=1", "b=2; Path=/"], "body": "AP8=", "isBase64Encoded": True}
    if what == "count":
        return {"pid": os.getpid(), "calls": CALLS}
    if what == "context":
        return {"function": context.function_name, "arn": context.invoked_function_arn,
                "remaining": context.get_remaining_time_in_millis()}
    if what == "environment":
        return dict(os.environ)
    if what == "put":
        import boto3
        s3 = boto3.client("s3")
        return s3.put_object(Bucket=os.environ["STORE"], Key="made", Body=b"1")["ETag"]
    print("echoing", flush=True)
    headers = {"content-type": "application/json"}
    return {"statusCode": 200, "headers": headers, "body": json.dumps(event)}
"""

CONSUMER = """\
import json, pathlib

SEEN = pathlib.Path(__file__).with_name("seen.jsonl")

def lambda_handler(event, context):
    if "routeKey" in event:
        return {"statusCode": 404, "body": json.dumps({"route": event["routeKey"]})}
    with SEEN.open("a") as seen:
        seen.write(json.dumps(event) + "\\n")
    failed = [r["messageId"] for r in event.get("Records", ()) if "broken" in r["body"]]
    return {"batchItemFailures": [{"itemIdentifier": item} for item in failed]}
"""


def write_toy_project(folder: Path) -> Path:
    """Write the project and return its template."""
    code = folder / "code"
    code.mkdir(parents=True)
    (code / "caller.py").write_text(CALLER)
    (code / "consumer.py").write_text(CONSUMER)
    template = folder / "template.yaml"
    template.write_text(TEMPLATE)
    return template


def toy_launch(folder: Path, *, timeout: float = 2.0, code: str = CALLER) -> Launch:
    """Write one function and say how it is started, without any store."""
    (folder / "code").mkdir()
    (folder / "code" / "caller.py").write_text(code)
    return Launch(
        function=Function("caller", "caller.lambda_handler", folder / "code", timeout=timeout),
        python=interpreter("runtime"),
        import_path=(),
        variables={},
        log=folder / "caller.log",
        temporary=folder,
    )
