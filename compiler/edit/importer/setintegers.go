package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/kube"
	"github.com/fleetc/fleetc/compiler/stage/render"
)

// This file handles the integers of helm --set. Templates see them as int64, and the numbers of
// values files as float64: they print 1000000 or 1e+06.

// setIntegers sets Integer of each node whose value in values is an int64. values has the
// structure of the node.
func (n *Node) setIntegers(values any) {
	switch v := values.(type) {
	case map[string]any:
		for key, below := range v {
			n.Get(key).setIntegers(below)
		}
	case []any:
		for i, below := range v {
			if n != nil && i < len(n.List) {
				n.List[i].setIntegers(below)
			}
		}
	case int64:
		if n != nil && n.Scalar == json.Number(strconv.FormatInt(v, 10)) {
			n.Integer = &v
		}
	}
}

// treeOf returns the values of [Node.Value] with the integers of helm --set as int64.
func treeOf(values any) (*fleet.Tree, error) {
	t, err := fleet.TreeOf(values)
	if err == nil {
		t.EachScalar(func(path []string, scalar *fleet.Tree) {
			if v, _ := fleet.Lookup(values, path); scalar.Scalar != nil {
				if i, ok := v.(int64); ok {
					scalar.Scalar = i
				}
			}
		})
	}
	return t, err
}

// setOptions returns the options of helm for the integers of values. prefix is their path.
func setOptions(prefix string, values any) (options []string) {
	switch v := values.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			options = append(options, setOptions(strings.TrimPrefix(prefix+"."+specialInPath.Replace(key), "."), v[key])...)
		}
	case []any:
		for i, below := range v {
			options = append(options, setOptions(fmt.Sprintf("%s[%d]", prefix, i), below)...)
		}
	case int64:
		options = []string{"--set", fmt.Sprintf("%s=%d", prefix, v)}
	}
	return options
}

// specialInPath escapes the characters that have a meaning in a path of helm --set.
var specialInPath = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `,`, `\,`, `=`, `\=`, `[`, `\[`)

// integers returns the integers of helm --set that print otherwise as numbers of a values file.
func (n *Node) integers() (all []*Node) {
	if n == nil {
		return nil
	}
	for _, f := range n.Fields {
		all = append(all, f.Value.integers()...)
	}
	for _, e := range n.List {
		all = append(all, e.integers()...)
	}
	if n.Integer != nil && fmt.Sprint(float64(*n.Integer)) != strconv.FormatInt(*n.Integer, 10) {
		all = append(all, n)
	}
	return all
}

// writeIntegers makes integers of helm --set strings where a chart renders the same objects with the
// string, and not with the number. Those that a float cannot represent are always strings.
func (w *work) writeIntegers(ctx context.Context) {
	charts := &render.Charts{}
	for _, c := range w.model.Clusters {
		for _, r := range c.Releases {
			large := r.Values.integers()
			if len(large) == 0 {
				continue
			}
			want := w.renderChart(ctx, charts, c, r, kube.Capabilities(c.Kubernetes))
			isSame := func() bool {
				got := w.renderChart(ctx, charts, c, r, kube.Capabilities(c.Kubernetes))
				before, _ := withoutRandom(want.Objects, want.Nondeterministic)
				after, _ := withoutRandom(got.Objects, got.Nondeterministic)
				return len(before) == len(after) && sameBytes(before, after)
			}
			for _, n := range large {
				i := n.Integer
				number, ok := n.Scalar.(json.Number)
				if !ok {
					continue // a string already, for another cluster
				}
				_, isExact := fleet.Float(number)
				if n.Integer = nil; isExact && isSame() {
					n.Integer = i
					continue
				}
				if n.Scalar = strconv.FormatInt(*i, 10); isExact && !isSame() {
					n.Scalar = number
				} else {
					n.Comment = strings.TrimPrefix(n.Comment+"\na string, since Helm prints this number as "+fmt.Sprint(float64(*i)), "\n")
				}
				n.Integer = i
			}
		}
	}
}
