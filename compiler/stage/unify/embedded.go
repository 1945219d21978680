package unify

import (
	"path"

	"cuelang.org/go/cue/build"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A relocation maps positions in embedded files to fleet paths: CUE reports
// them relative to the embedding file. An ambiguous name stays unchanged.
type relocation struct {
	names     map[string]string // fleet paths by the names in CUE's positions
	embedders map[string]string // the directory of the embedding CUE file, by fleet path
}

func relocate(root string, in *build.Instance) relocation {
	r := relocation{map[string]string{}, map[string]string{}}
	for _, i := range append(in.Dependencies(), in) {
		for _, file := range i.Files {
			embeds, _ := diag.Embeds(root, file) // CUE reports errors
			for _, e := range embeds {
				if other, ok := r.names[e.As]; ok && other != e.Name {
					r.names[e.As] = e.As
				} else {
					r.names[e.As] = e.Name
				}
				r.embedders[e.Name] = path.Dir(diag.CUEPos(root, file.Pos()).File)
			}
		}
	}
	return r
}

func (r relocation) pos(p *diag.Pos) {
	if file, ok := r.names[p.File]; ok {
		p.File = file
	}
}

// faults returns the faults with corrected positions.
func (r relocation) faults(err error) error {
	if len(r.names) == 0 {
		return err
	}
	return diag.Moved(err, func(p diag.Pos) diag.Pos {
		r.pos(&p)
		return p
	})
}

// cluster corrects the positions in a cluster.
func (r relocation) cluster(c *fleet.Cluster) {
	if len(r.names) == 0 || c == nil {
		return
	}
	r.pos(&c.Pos)
	r.pos(&c.KubePos)
	for _, release := range c.Releases {
		r.pos(&release.Pos)
		r.pos(&release.SourcePos)
		for i := range release.DependsPos {
			r.pos(&release.DependsPos[i])
		}
		for i := range release.Patches {
			r.pos(&release.Patches[i].Pos)
			r.tree(release.Patches[i].Written)
		}
		r.tree(release.Values)
		for _, o := range release.Objects {
			r.tree(o)
		}
	}
}

func (r relocation) tree(t *fleet.Tree) {
	if t == nil {
		return
	}
	r.pos(&t.Pos)
	r.tree(t.Shadows)
	for _, f := range t.Fields {
		r.tree(f)
	}
	for _, e := range t.List {
		r.tree(e)
	}
}
