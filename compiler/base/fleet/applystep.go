package fleet

import (
	"cmp"
	"slices"
)

// An ApplyStep is the part of a stage that applies as a whole: its releases of one
// level. The next step begins when all of it is ready.
type ApplyStep struct {
	Stage string
	Level int // as [Release.Level]
}

// ApplyStep returns the step in which the release applies.
func (r *Release) ApplyStep() ApplyStep { return ApplyStep{r.Stage, r.Level} }

// ApplySteps returns the steps of the cluster in the order in which they apply. Every
// stage has level 0, also when it has no release.
func (c *Cluster) ApplySteps() []ApplyStep {
	var out []ApplyStep
	for _, stage := range c.Stages {
		out = append(out, c.StepsOf(stage)...)
	}
	return out
}

// StepsOf returns the steps of one stage in the order in which they apply.
func (c *Cluster) StepsOf(stage string) []ApplyStep {
	highest := 0
	for _, r := range c.Releases {
		if r.Stage == stage {
			highest = max(highest, r.Level)
		}
	}
	steps := make([]ApplyStep, highest+1)
	for level := range steps {
		steps[level] = ApplyStep{stage, level}
	}
	return steps
}

// CompareSteps returns a negative number when a applies before b, a positive one
// when it applies after b, and 0 when they are the same step.
func (c *Cluster) CompareSteps(a, b ApplyStep) int {
	return cmp.Or(cmp.Compare(slices.Index(c.Stages, a.Stage), slices.Index(c.Stages, b.Stage)), cmp.Compare(a.Level, b.Level))
}
