package crd

import "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// expand returns the most nodes that defaults add below one map: a default can
// have items that have defaults that have items. It counts until left is used
// up, and then returns the bound.
func expand(s *schema.Structural, left *int) int {
	if s == nil {
		return 0
	}
	own, most := 0, 0
	for _, p := range s.Properties {
		if p.Default.Object != nil {
			own += unfold(p.Default.Object, &p, left)
		}
		most = max(most, expand(&p, left))
	}
	most = max(most, expand(s.Items, left))
	if s.AdditionalProperties != nil {
		most = max(most, expand(s.AdditionalProperties.Structural, left))
	}
	if *left < 0 {
		return maxDefaulted
	}
	return max(own, most)
}

// unfold returns the nodes of a value with the defaults below it, and stops
// when left is used up.
func unfold(v any, s *schema.Structural, left *int) int {
	*left--
	n := 1
	if s == nil || *left < 0 {
		return n
	}
	switch v := v.(type) {
	case map[string]any:
		for k, p := range s.Properties {
			if _, ok := v[k]; !ok && p.Default.Object != nil {
				n += unfold(p.Default.Object, &p, left)
			}
		}
		for k, e := range v {
			if p, ok := s.Properties[k]; ok {
				n += unfold(e, &p, left)
			} else if s.AdditionalProperties != nil {
				n += unfold(e, s.AdditionalProperties.Structural, left)
			}
		}
	case []any:
		for _, e := range v {
			if *left < 0 {
				break
			}
			n += unfold(e, s.Items, left)
		}
	}
	return n
}
