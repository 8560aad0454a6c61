"""What a skill is: names, paths, frontmatter, archives, rules, rendering. Pure, no I/O."""
