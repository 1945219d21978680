package validate

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// maxDefaultNodes returns the maximum number of nodes that defaults add below
// one map, since a default can have items with defaults. When left is used up,
// it returns maxDefaulted.
func maxDefaultNodes(s *schema.Structural, left *int) int {
	if s == nil {
		return 0
	}
	own, most := 0, 0
	for _, p := range s.Properties {
		if p.Default.Object != nil {
			own += countNodes(p.Default.Object, &p, left)
		}
		most = max(most, maxDefaultNodes(&p, left))
	}
	most = max(most, maxDefaultNodes(s.Items, left))
	if s.AdditionalProperties != nil {
		most = max(most, maxDefaultNodes(s.AdditionalProperties.Structural, left))
	}
	if *left < 0 {
		return maxDefaulted
	}
	return max(own, most)
}

// countNodes counts the nodes of a value with the defaults below it. It stops
// when left is used up.
func countNodes(v any, s *schema.Structural, left *int) int {
	*left--
	n := 1
	if s == nil || *left < 0 {
		return n
	}
	switch v := v.(type) {
	case map[string]any:
		for k, p := range s.Properties {
			if _, ok := v[k]; !ok && p.Default.Object != nil {
				n += countNodes(p.Default.Object, &p, left)
			}
		}
		for k, e := range v {
			if p, ok := s.Properties[k]; ok {
				n += countNodes(e, &p, left)
			} else if s.AdditionalProperties != nil {
				n += countNodes(e, s.AdditionalProperties.Structural, left)
			}
		}
	case []any:
		for _, e := range v {
			if *left < 0 {
				break
			}
			n += countNodes(e, s.Items, left)
		}
	}
	return n
}
