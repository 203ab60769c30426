"""The referee: it judges plans and runs, and checks beliefs and worlds of users.

It uses nothing of `planning` or `solvers`; a bound is judged given the belief, and `check_belief`
judges the belief. Read `claims` (what a plan claims), `certificate` (the verdicts), then the
methods: `exact`, `bounds` and `sampling` for plans, `runs` for runs. `beliefs` and `worlds` have
`check_belief` and `check_world`.
"""
