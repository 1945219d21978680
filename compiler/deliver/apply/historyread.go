package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// This file reads recorded bundles.

// A RecordedBundle is the bundle of a revision.
type RecordedBundle struct {
	*fleet.Bundle
	Charts  map[string]*fleet.Chart // of releases that Helm delivers, by release name
	Secrets map[string]string       // values of secrets by reference
}

// ReadBundle returns the bundle of a revision. Stages, releases and health rules come from
// the record. A missing or damaged record is a fault.
func (t Target) ReadBundle(ctx context.Context, r Revision, of *fleet.Cluster) (*RecordedBundle, error) {
	b, err := readBundle(ctx, t.store(), r, of)
	if broken := (*brokenError)(nil); errors.As(err, &broken) {
		return nil, &diag.Diag{
			Code: diag.CodeDamagedRecord,
			Msg:  fmt.Sprintf("revision %d cannot be read: %s", r.Number, diag.Visible(broken.why, diag.MaxText)),
			Hint: "roll back to another revision; fleetc history lists them",
		}
	}
	return b, err
}

func readBundle(ctx context.Context, s store, r Revision, of *fleet.Cluster) (*RecordedBundle, error) {
	var parts [][]byte
	for _, names := range r.Parts {
		packed, err := s.readChunks(ctx, names)
		if err != nil {
			return nil, err
		}
		text, err := unpack(packed)
		if err != nil {
			return nil, &brokenError{err.Error()}
		}
		parts = append(parts, text)
	}
	return decodeBundle(r, parts, of)
}

// decodeBundle is the inverse of bundleParts.
func decodeBundle(r Revision, parts [][]byte, of *fleet.Cluster) (*RecordedBundle, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(parts[0], &version); err == nil && version.Format != recordFormat {
		return nil, &diag.Diag{
			Code: diag.CodeOtherVersion,
			Msg:  fmt.Sprintf("revision %d is recorded in format %d, but this fleetc supports %d", r.Number, version.Format, recordFormat),
			Hint: "use the fleetc that recorded it, or a newer one",
		}
	}
	var head bundleHead
	if err := utiljson.Unmarshal(parts[0], &head); err != nil {
		return nil, &brokenError{"it is not in the format that fleetc writes"}
	}
	if len(head.Releases) > len(parts)-1 {
		return nil, &brokenError{"the number of its parts does not match its releases"}
	}
	cluster := *of
	cluster.Stages, cluster.Health, cluster.Releases, cluster.Actions = head.Stages, head.Health, nil, nil
	texts := make([][]string, len(head.Releases))
	for i, part := range parts[1 : 1+len(head.Releases)] {
		if level := head.Releases[i].Level; level < 0 || level >= len(head.Releases) {
			return nil, &brokenError{"it has a release with an invalid level"}
		}
		if err := json.Unmarshal(part, &texts[i]); err != nil {
			return nil, &brokenError{"it is not in the format that fleetc writes"}
		}
		cluster.Releases = append(cluster.Releases, head.Releases[i].release())
	}
	charts, err := decodeCharts(head.Releases, cluster.Releases, parts[1+len(head.Releases):])
	if err != nil {
		return nil, err
	}
	b := &fleet.Bundle{Cluster: &cluster, Digest: r.Bundle}
	for _, h := range head.Hooks {
		o := &unstructured.Unstructured{Object: h.Object}
		if h.Release < 0 || h.Release >= len(texts) || isIncomplete(o) {
			return nil, &brokenError{"its hooks do not match its releases"}
		}
		b.Hooks = append(b.Hooks, fleet.Object{Unstructured: o, Release: cluster.Releases[h.Release], Unapplied: true})
	}
	for n, i := range head.Objects {
		if i < 0 || i >= len(texts) || len(texts[i]) == 0 {
			return nil, &brokenError{"its objects do not match its releases"}
		}
		text := texts[i][0]
		texts[i] = texts[i][1:]
		o, err := decodeObject(text)
		if err != nil {
			return nil, err
		}
		b.Objects = append(b.Objects, fleet.Object{Unstructured: o, Release: cluster.Releases[i], CRD: slices.Contains(head.CRDs, n)})
		b.YAML = append(b.YAML, fleet.Text{[]byte(text)})
	}
	return &RecordedBundle{b, charts, head.Secrets}, nil
}

func decodeObject(text string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(data, &o.Object)
	}
	if err != nil || isIncomplete(o) {
		return nil, &brokenError{"it has an invalid object"}
	}
	return o, nil
}

func isIncomplete(o *unstructured.Unstructured) bool { return o.GetKind() == "" || o.GetName() == "" }

// A recordedChart is the chart of a release that Helm delivers.
type recordedChart struct {
	Digest string       `json:"digest"`
	Files  []fleet.File `json:"files"`
}

// decodeCharts returns the charts of the releases that Helm delivers, and sets the
// releases' values.
func decodeCharts(records []recordedRelease, releases []*fleet.Release, parts [][]byte) (map[string]*fleet.Chart, error) {
	charts := map[string]*fleet.Chart{}
	for i, r := range releases {
		if r.Delivery != fleet.ByHelm {
			continue
		}
		values, err := fleet.TreeOf(records[i].Values)
		if r.Values = values; err != nil || len(parts) == 0 || !values.IsMap() {
			return nil, &brokenError{"release " + r.Name + " has no chart, or no values for it"}
		}
		var c recordedChart
		if err := json.Unmarshal(parts[0], &c); err != nil || c.Digest == "" {
			return nil, &brokenError{"it is not in the format that fleetc writes"}
		}
		charts[r.Name], parts = &fleet.Chart{Digest: c.Digest, Files: c.Files}, parts[1:]
	}
	if len(parts) > 0 {
		return nil, &brokenError{"the number of its parts does not match its releases"}
	}
	return charts, nil
}
