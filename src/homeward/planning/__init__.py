"""From a belief to a decision: planner, plan, budget and the explorer's loop."""
