package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/stage/load"
)

// verify compiles the fleet with edits and compares all objects. Each use of the images
// must change as planned, and no other field except those whose text has the old tag in it,
// and checksums.
func (u *imageUpdater) verify(ctx context.Context, edits load.Edits, versions []ImageVersion) (out Comparison, err error) {
	after, remove := compileChange(ctx, u.c, u.f, edits)
	defer func() { err = errors.Join(err, remove()) }()
	if after.Faults != nil {
		return out, after.Faults
	}
	clusters := inBoth(u.f.Fleet, after.All)
	for i, c := range u.f.Clusters {
		if i == len(clusters) || clusters[i].before != c {
			return out, fmt.Errorf("the cluster %s is missing after the update", c.ID)
		}
	}
	out = compareStates(ctx, State{Fleet: u.f}, after, clusters, func(m movedCluster, before, after []fleet.Object) error {
		k := check{imageUpdater: u, cluster: m.before, versions: versionsIn(versions, m.before.ID), all: versions}
		k.objects(before, after)
		return k.faults.Err()
	})
	return out, out.Faults
}

// versionsIn returns the versions that a cluster gets.
func versionsIn(versions []ImageVersion, cluster string) []*ImageVersion {
	var out []*ImageVersion
	for i := range versions {
		if slices.Contains(versions[i].Clusters, cluster) {
			out = append(out, &versions[i])
		}
	}
	return out
}

// compileChange compiles a fleet with edits of its files. before is the fleet without them. Files
// that are not CUE are read from the disk, so that their edits are compiled in a copy of the
// fleet, which remove removes. The state has no fleet if it cannot be evaluated.
func compileChange(ctx context.Context, c *compiler.Compiler, before *compiler.Fleet, edits load.Edits) (after State, remove func() error) {
	remove = func() error { return nil }
	edited := *c
	edited.Edits, edited.ReuseFrom = edits, before
	for name := range edits {
		if path.Ext(name) == ".cue" {
			continue
		}
		dir, copied, err := CopyFleet(ctx, before.Dir, edits)
		remove = func() error { return os.RemoveAll(dir) }
		if err != nil {
			return State{Faults: err}, remove
		}
		edited.Dir, edited.Edits, edited.ReadOnlyCache = copied, nil, true
		break
	}
	e := edited.Evaluate(ctx, nil)
	if e.Fleet == nil {
		return State{Faults: e.Faults}, remove
	}
	return loadState(ctx, &edited, e), remove
}

// A check compares the objects of one cluster.
type check struct {
	*imageUpdater
	cluster  *fleet.Cluster
	versions []*ImageVersion // that the cluster gets
	all      []ImageVersion  // that any cluster gets
	faults   diag.List
}

// objects compares the objects before and after.
func (k *check) objects(before, after []fleet.Object) {
	next := map[string]fleet.Object{}
	for _, o := range after {
		next[o.ID()] = o
	}
	changed := map[string]bool{} // uses that changed, by object and field
	for _, o := range before {
		id := o.ID()
		other, ok := next[id]
		if !ok {
			id = k.follow(id) // the name has the tag in it
			if other, ok = next[id]; ok && !isRenamable(o) {
				k.fault(o.Release, o.Title()+" would be deleted, and "+other.Title()+" created in its place", "remove the tag from its name")
			}
		}
		delete(next, id)
		if !ok {
			k.fault(o.Release, o.Title()+" would be removed", "")
			continue
		}
		if reflect.ValueOf(o.Object).Pointer() != reflect.ValueOf(other.Object).Pointer() {
			k.values(o, nil, o.Object, other.Object, changed)
		}
	}
	for _, o := range after {
		if _, isNew := next[o.ID()]; isNew {
			k.fault(o.Release, o.Title()+" would be added", "")
		}
	}
	for _, v := range k.versions {
		for _, use := range k.uses[v.Image] {
			if slices.Contains(use.Clusters, k.cluster.ID) && !changed[use.Object+"\x00"+fleet.FieldText(use.Path)] {
				k.fault(k.cluster.Release(use.Release), fmt.Sprintf("%s of %s would still have the image %s", use.Field, diag.Visible(use.Object, diag.MaxText), v.Image), "")
			}
		}
	}
}

// isRenamable reports whether an object may get another name: its kind holds no data, and
// nothing outside of the fleet uses its name.
func isRenamable(o fleet.Object) bool {
	switch fmt.Sprint(o.Object["apiVersion"], " ", o.Object["kind"]) {
	case "batch/v1 Job", "v1 Pod", "v1 ConfigMap":
		return true
	}
	return false
}

// values compares a part of an object before and after.
func (k *check) values(o fleet.Object, at []string, before, after any, changed map[string]bool) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && len(a) == len(b) {
			for key, v := range b {
				other, ok := a[key]
				if !ok {
					k.fault(o.Release, fleet.FieldText(append(at, key))+" of "+o.Title()+" would be removed", "")
					continue
				}
				k.values(o, append(slices.Clone(at), key), v, other, changed)
			}
			return
		}
	case []any:
		if a, ok := after.([]any); ok && len(a) == len(b) {
			for i, v := range b {
				k.values(o, append(slices.Clone(at), strconv.Itoa(i)), v, a[i], changed)
			}
			return
		}
	}
	if reflect.DeepEqual(before, after) {
		return
	}
	field := fleet.FieldText(at)
	old, isText := before.(string)
	next, isText2 := after.(string)
	isUse, reached := k.planned(o, at, old, next)
	switch {
	case isUse && reached:
		changed[o.ID()+"\x00"+field] = true
	case isUse || k.isImage(o, at):
		hint := "one value sets both: update both images to the same tag, or name a layer with --in"
		if i := slices.IndexFunc(k.all, func(v ImageVersion) bool { return v.Image == before }); i >= 0 {
			hint = "clusters with different policies share the line: name a layer with --in"
			if policyOf(k.cluster, k.all[i].Repository).Rule == k.all[i].rule {
				hint = "replace the symbolic link in this cluster with a copy of the file, or update the image without --in"
			}
		}
		k.fault(o.Release, fmt.Sprintf("the image %s of %s would also become %s", briefValue(before), o.Title(), briefValue(after)), hint)
	case !isText || !isText2 || k.follow(old) != next && !isVersionText(at):
		k.fault(o.Release, fmt.Sprintf("%s of %s would also change, from %s to %s", field, o.Title(), briefValue(before), briefValue(after)), "")
	}
}

// planned reports whether a field has an image that the cluster gets another version of, and
// whether it changes to this version.
func (k *check) planned(o fleet.Object, at []string, before, after string) (isUse, reached bool) {
	for _, v := range k.versions {
		for _, use := range k.uses[v.Image] {
			if use.Object == o.ID() && slices.Equal(use.Path, at) {
				isUse = true
				reached = reached || strings.Replace(before, v.Image, v.Next(), 1) == after
			}
		}
	}
	return isUse, reached
}

// isImage reports whether a field has another image.
func (k *check) isImage(o fleet.Object, at []string) bool {
	return k.others[k.cluster.ID+"\x00"+o.ID()+"\x00"+fleet.FieldText(at)]
}

// follow returns a text with the new tags in place of the old ones.
func (k *check) follow(text string) string {
	for _, v := range k.versions {
		for _, pair := range [][2]string{{v.Image, v.Next()}, {v.Tag, v.Newest}, {strings.TrimPrefix(v.Tag, "v"), strings.TrimPrefix(v.Newest, "v")}, {dashed(v.Tag), dashed(v.Newest)}} {
			if pair[0] != "" && strings.Contains(text, pair[0]) {
				text = strings.ReplaceAll(text, pair[0], pair[1])
				break
			}
		}
	}
	return text
}

// dashed returns a tag as it may be in a name.
func dashed(tag string) string {
	return strings.ReplaceAll(strings.ReplaceAll(tag, ".", "-"), "_", "-")
}

// versionText matches metadata that says which version or content an object has.
var versionText = regexp.MustCompile(`(?i)(^|\.)metadata\.(annotations|labels)\.("[^"]*(version|checksum)[^"]*"|[^."]*(version|checksum)[^."]*)$`)

// isVersionText reports whether a field only says which version or content an object has.
func isVersionText(at []string) bool { return versionText.MatchString(fleet.FieldText(at)) }

// briefValue returns a value for a message.
func briefValue(v any) string {
	const most = 80
	return diag.Visible(fmt.Sprint(v), most)
}

// fault adds a change that was not planned.
func (k *check) fault(r *fleet.Release, what, hint string) {
	const most = 5 // for one cluster
	if len(k.faults) >= most {
		return
	}
	name := fmt.Sprintf("%d images are", len(k.all))
	if len(k.all) == 1 {
		name = diag.Visible(k.all[0].Next(), diag.MaxText) + " is"
	}
	d := &diag.Diag{Code: diag.CodeUpdateEffect, Path: r.Path(), Msg: fmt.Sprintf("%s not written: %s", name, what), Hint: cmp.Or(hint, "change the image by hand"), Clusters: []string{k.cluster.ID}}
	if r.Pos.IsValid() {
		d.At = []diag.Pos{r.Pos}
	}
	k.faults.Add(d)
}
