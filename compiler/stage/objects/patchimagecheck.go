package objects

import (
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// imageChecks says of each policy of an image, and of each pattern of updates for images,
// whether an object of the cluster has the image.
func imageChecks(c *fleet.Cluster, objs []fleet.Object) []fleet.RuleCheck {
	if len(c.Images) == 0 && c.Updates == nil {
		return nil
	}
	var names []string
	full := map[string]bool{}
	add := func(f ImageField) {
		repository := fleet.ParseImage(f.Image).Repository
		names = append(names, repository)
		full[fleet.FullImageName(repository)] = true
	}
	for _, fields := range Images(c, objs) {
		for _, f := range fields {
			add(f)
		}
	}
	for _, texts := range ImageTexts(c, objs) {
		for _, text := range texts {
			add(text.ImageField)
		}
	}
	names = diag.Distinct(names)
	var out []fleet.RuleCheck
	for _, p := range c.Images {
		check := fleet.RuleCheck{Path: p.PolicyPath(), Pos: p.Pos, Holds: full[fleet.FullImageName(p.Image)]}
		if !check.Holds {
			check.Msg = "no object of its clusters has the image " + diag.Visible(p.Image, diag.MaxText)
			if check.Fixes = diag.Respell(p.Image, names); check.Fixes != nil {
				check.Near = 1
			}
			if check.Hint = diag.OneOf(p.Image, names); check.Hint == "" {
				check.Hint = "correct the name, or remove the policy; fleetc image list shows the images"
			}
		}
		out = append(out, check)
	}
	if c.Updates != nil {
		for _, p := range c.Updates.Patterns(fleet.UpdateImages) {
			out = append(out, p.Check(names, fleet.MatchImage, "no object of the fleet has an image that matches "))
		}
	}
	return out
}
