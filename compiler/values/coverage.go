package values

import "slices"

// Missing returns the names of the documents that the schemas of the chart and
// of its dependencies refer to, and that neither the chart has nor are pinned
// with it; sorted. What they would say of values is not known.
func (t *Type) Missing() []string {
	if t.chart == nil {
		return nil
	}
	var out []string
	var collect func(n *node, depth int)
	collect = func(n *node, depth int) {
		if n.schema != nil {
			out = append(out, n.schema.missing...)
		}
		for _, d := range n.deps {
			if depth < maxLevels {
				collect(d, depth+1)
			}
		}
	}
	collect(t.chart.root, 0)
	slices.Sort(out)
	return slices.Compact(out)
}
