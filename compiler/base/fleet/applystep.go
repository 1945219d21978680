package fleet

import (
	"cmp"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// An ApplyStep is the part of a stage that is applied together: its releases
// of one level. The next step begins when all of it is ready.
type ApplyStep struct {
	Stage string
	Level int // as [Release.Level]
}

// ApplyStep returns the apply step of the release.
func (r *Release) ApplyStep() ApplyStep { return ApplyStep{r.Stage, r.Level} }

// ApplySteps returns the steps of the cluster in order. Every stage has level
// 0, even without releases.
func (c *Cluster) ApplySteps() []ApplyStep {
	return slices.Concat(diag.Each(c.Stages, c.StepsOf)...)
}

// StepsOf returns the steps of one stage in order.
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

// CompareSteps returns a negative number if a is applied before b, a positive
// one if it is applied after b, and 0 if they are the same step.
func (c *Cluster) CompareSteps(a, b ApplyStep) int {
	return cmp.Or(cmp.Compare(slices.Index(c.Stages, a.Stage), slices.Index(c.Stages, b.Stage)), cmp.Compare(a.Level, b.Level))
}
