package objects

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/base/par"
)

// An Assembler makes the bundles of a fleet. It caches the YAML of objects that
// clusters share. It is safe for concurrent use.
type Assembler struct {
	Fleet string // module path, for the marks of objects

	texts par.Memo[textKey, objectText]
}

// A textKey is the cache key for the YAML of a shared object.
type textKey struct {
	content *unstructured.Unstructured
	release string
}

// An objectText is the YAML of an object before and after the ID of its cluster.
type objectText struct {
	before, after []byte
	err           error
}

// Assemble returns the bundle of the cluster with the given objects, marked by
// [fleet.Mark]. They are sorted by stage, level, the order of kinds in Helm,
// name, namespace and ID. The pins of rendered sources are sorted by release.
// Neither slice is modified, but the bundle shares the content of the objects.
//
// The error is a [diag.List] of all faults: an object in a stage that the
// cluster does not have, a duplicate ID, or content that JSON does not support.
func (a *Assembler) Assemble(c *fleet.Cluster, objs []fleet.Object, pins []fleet.Pin) (*fleet.Bundle, error) {
	entries, err := order(c, objs)
	if err != nil {
		return nil, err
	}
	b := &fleet.Bundle{
		Cluster: c,
		Objects: make([]fleet.Object, len(entries)),
		YAML:    make([]fleet.Text, len(entries)),
		Sums:    make([]fleet.Sum, len(entries)),
		Charts:  slices.Clone(pins),
	}
	slices.SortStableFunc(b.Charts, func(p, q fleet.Pin) int { return cmp.Compare(p.Release, q.Release) })
	id := encoder{}
	if err := id.text(c.ID, markColumn); err != nil {
		return nil, fmt.Errorf("encode the ID of %s: %w", c.ID, err)
	}
	var faults diag.List
	sum := sha256.New()
	for i, e := range entries {
		marked := fleet.Mark(a.Fleet, c, e.Object)
		t := a.text(e.Object, marked)
		if t.err != nil {
			faults.Add(e.fault(t.err))
			continue
		}
		b.Objects[i], b.YAML[i] = marked, fleet.Text{t.before, id.buf, t.after}
		b.Sums[i] = b.YAML[i].Sum()
		head, err := json.Marshal(e.header())
		if err != nil {
			return nil, fmt.Errorf("encode the header of %s: %w", e.id, err)
		}
		// A header is one line of JSON, and a sum has a fixed length, so the
		// hashed bytes of two bundles differ.
		sum.Write(append(head, '\n'))
		sum.Write(b.Sums[i][:])
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if err := addHelmInputs(sum, b); err != nil {
		return nil, err
	}
	b.Digest = fleet.Sum(sum.Sum(nil)).String()
	return b, nil
}

// helmInputs are the chart and the values of a release that Helm delivers. Helm renders
// them again, in the cluster, where templates may print what they do not print here.
type helmInputs struct {
	Release, Namespace, Stage string
	Level                     int
	Chart                     string // digest
	Values                    any
}

// addHelmInputs hashes the inputs of the releases that Helm delivers. Each is one line of
// JSON, a map, while the header of an object is a list.
func addHelmInputs(sum io.Writer, b *fleet.Bundle) error {
	charts := map[string]string{}
	for _, p := range b.Charts {
		charts[p.Release] = p.Chart.Digest
	}
	for _, r := range b.Cluster.Releases {
		if r.Delivery != fleet.ByHelm {
			continue
		}
		if err := json.NewEncoder(sum).Encode(helmInputs{r.Name, r.Namespace, r.Stage, r.Level, charts[r.Name], r.Values.Value()}); err != nil {
			return fmt.Errorf("encode the values of release %s: %w", r.Name, err)
		}
	}
	return nil
}

// markColumn is the column for the lines of a cluster ID in a block scalar.
const markColumn = 6

// text returns the YAML of an object; marked is the same object with marks.
func (a *Assembler) text(o, marked fleet.Object) objectText {
	if !o.Shared {
		return encodeText(marked)
	}
	return a.texts.Get(textKey{o.Unstructured, o.Release.Name}, func() objectText { return encodeText(marked) })
}

// encodeText encodes an object with marks.
func encodeText(marked fleet.Object) objectText {
	object := maps.Clone(marked.Object)
	meta := maps.Clone(object["metadata"].(map[string]any))
	annotations := maps.Clone(meta["annotations"].(map[string]any))
	object["metadata"], meta["annotations"], annotations[fleet.ClusterAnnotation] = meta, annotations, placeholder{}
	e := encoder{buf: make([]byte, 0, 1024)}
	if err := e.fields(object, 0, false); err != nil {
		return objectText{err: err}
	}
	all := bytes.Clone(e.buf)
	return objectText{before: all[:e.placeholder:e.placeholder], after: all[e.placeholder:]}
}

// A sortedObject is an object with its sort keys.
type sortedObject struct {
	fleet.Object
	stage, level, rank        int
	kind, name, namespace, id string
}

// order returns the objects in the order of application.
func order(c *fleet.Cluster, objs []fleet.Object) ([]sortedObject, error) {
	stages := make(map[string]int, len(c.Stages))
	for i, s := range c.Stages {
		stages[s] = i
	}
	ranks := kindRanks()
	var faults diag.List
	entries := make([]sortedObject, len(objs))
	seen := make(map[string]*fleet.Release, len(objs))
	for i, o := range objs {
		e := sortedObject{Object: o, kind: o.GetKind(), name: o.GetName(), namespace: o.GetNamespace(), id: o.ID()}
		stage, ok := stages[o.Release.Stage]
		if !ok {
			faults.Add(&diag.Diag{
				Code: diag.CodeStage,
				At:   diag.Positions(o.Release.Pos), Path: "releases." + o.Release.Name + ".stage",
				Msg:  fmt.Sprintf("the cluster has no stage %q", o.Release.Stage),
				Hint: diag.OneOf(o.Release.Stage, c.Stages),
			})
		}
		if first, ok := seen[e.id]; ok {
			faults.Add(e.fault(&diag.Diag{
				Code: diag.CodeSameObject,
				At:   diag.Positions(o.Release.Pos, first.Pos),
				Msg:  fmt.Sprintf("releases %s and %s both have this object", first.Name, o.Release.Name),
			}))
		}
		seen[e.id] = o.Release
		e.stage, e.level = stage, o.Release.Level
		if e.rank, ok = ranks[e.kind]; !ok {
			e.rank = len(ranks)
		}
		entries[i] = e
	}
	slices.SortFunc(entries, sortedObject.compare)
	return entries, faults.Err()
}

// header returns the metadata of an object for the digest. Without dependencies
// it has no levels, to keep the digests of older versions.
func (e sortedObject) header() []any {
	header := []any{e.Release.Stage, e.Release.Name, e.id}
	if e.level > 0 {
		header = append(header, e.level)
	}
	return header
}

func (e sortedObject) compare(f sortedObject) int {
	return cmp.Or(
		cmp.Compare(e.stage, f.stage), cmp.Compare(e.level, f.level), cmp.Compare(e.rank, f.rank), strings.Compare(e.kind, f.kind),
		strings.Compare(e.name, f.name), strings.Compare(e.namespace, f.namespace), strings.Compare(e.id, f.id),
	)
}

// fault returns err as a fault of the object.
func (e sortedObject) fault(err error) error {
	return diag.Changed(err, func(d *diag.Diag) {
		d.At = append(diag.Positions(e.Pos), d.At...)
		if d.Path != "" {
			d.Path = ": " + d.Path
		}
		d.Path = e.id + d.Path
	})
}

// installOrder is the order in which Helm 3.22.0 installs its known kinds,
// which users of charts rely on. Other kinds follow alphabetically.
const installOrder = `
PriorityClass Namespace NetworkPolicy ResourceQuota LimitRange
PodSecurityPolicy PodDisruptionBudget ServiceAccount Secret SecretList
ConfigMap StorageClass PersistentVolume PersistentVolumeClaim
CustomResourceDefinition ClusterRole ClusterRoleList ClusterRoleBinding
ClusterRoleBindingList Role RoleList RoleBinding RoleBindingList Service
DaemonSet Pod ReplicationController ReplicaSet Deployment
HorizontalPodAutoscaler StatefulSet Job CronJob IngressClass Ingress
APIService
`

// kindRanks returns the index of each kind in installOrder.
func kindRanks() map[string]int {
	kinds := strings.Fields(installOrder)
	ranks := make(map[string]int, len(kinds))
	for i, kind := range kinds {
		ranks[kind] = i
	}
	return ranks
}
