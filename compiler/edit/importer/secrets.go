package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// A Secret is a value that only the cluster may know. Texts of releases refer to it by the
// result of [Cluster.AddSecret].
type Secret struct {
	Name    string
	File    string // path in the imported repository of a file that SOPS encrypted; empty for others
	Key     string // of the value in the file
	Content []byte // of the file
	Vals    string // reference of vals; empty for others
}

// secretName returns the name of a secret for the words and paths that describe it: shop and
// db.password are shopDbPassword.
func secretName(words ...string) string {
	name := replaceOthers(strings.Join(words, "_"), "", '_')
	if strings.Trim(name, "_") == "" {
		return "secret"
	}
	return factName(name)
}

// AddSecret adds a secret to the cluster, and returns the text that refers to it. The name
// gets a number when another value of the cluster has it.
func (c *Cluster) AddSecret(s Secret) (reference string) {
	name := s.Name
	for n := 2; ; n++ {
		i := slices.IndexFunc(c.Secrets, func(o Secret) bool { return o.Name == s.Name })
		if i < 0 {
			c.Secrets = append(c.Secrets, s)
			break
		}
		if o := c.Secrets[i]; o.File == s.File && o.Key == s.Key && o.Vals == s.Vals {
			break
		}
		s.Name = fmt.Sprintf("%s%d", name, n)
	}
	return fleet.Secret{Name: s.Name}.Reference()
}

// Nodes returns the values, objects and patches of the release; nil for those that it does
// not have.
func (r *Release) Nodes() []*Node {
	out := []*Node{r.Values}
	for _, o := range r.Objects {
		out = append(out, o.Value)
	}
	for _, p := range r.Patches {
		out = append(out, p.Body)
	}
	return out
}

// refers reports whether the release refers to a secret.
func (r *Release) refers() bool {
	return slices.ContainsFunc(r.Nodes(), func(n *Node) bool { return fleet.MayRefer(n.Value()) })
}

// DropUnusedSecrets removes the secrets to which no release of the cluster refers.
func (c *Cluster) DropUnusedSecrets() {
	used := map[string]bool{}
	add := func(reference, name string) string {
		used[name] = true
		return reference
	}
	for _, r := range c.Releases {
		for _, n := range r.Nodes() {
			fleet.MapReferencesIn(n.Value(), add)
		}
	}
	c.Secrets = slices.DeleteFunc(c.Secrets, func(s Secret) bool { return !used[s.Name] })
}

// secretPlaces returns the path in the fleet of each encrypted file, by its path in the
// imported repository. Files of a directory secrets keep theirs.
func (m *Model) secretPlaces() map[string]string {
	const dir = "secrets/"
	places, taken := map[string]string{}, map[string]bool{}
	for _, c := range m.Clusters {
		for _, s := range c.Secrets {
			if s.File != "" {
				places[s.File] = ""
			}
		}
	}
	files := slices.SortedFunc(maps.Keys(places), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(strings.TrimPrefix(a, dir))-len(a), len(strings.TrimPrefix(b, dir))-len(b)), cmp.Compare(a, b))
	})
	for _, file := range files {
		place := dir + strings.TrimPrefix(file, dir)
		ext := path.Ext(place)
		base := strings.TrimSuffix(place, ext)
		for n := 2; taken[place]; n++ {
			place = fmt.Sprintf("%s-%d%s", base, n, ext)
		}
		places[file], taken[place] = place, true
	}
	return places
}

// writeSecrets plans the encrypted files, and the CUE files that declare the secrets of each
// layer. used has the facts that they refer to.
func (w *work) writeSecrets(ids []string, known facts, used map[string]bool) error {
	places := w.model.secretPlaces()
	bodies := map[string]map[string]*Node{}
	for _, c := range w.model.Clusters {
		for _, s := range c.Secrets {
			if bodies[s.Name] == nil {
				bodies[s.Name] = map[string]*Node{}
			}
			if s.File == "" {
				bodies[s.Name][c.ID] = mapNode(Field{"vals", textNode(s.Vals)})
				continue
			}
			w.files[places[s.File]] = s.Content
			bodies[s.Name][c.ID] = mapNode(Field{"sops", textNode(places[s.File])}, Field{"key", textNode(s.Key)})
		}
	}
	d := divider{ids: ids, known: known, layers: map[string]*Node{}}
	for _, name := range sortedKeys(bodies) {
		for _, dir := range d.cover(bodies[name]) {
			of := maps.Clone(bodies[name])
			maps.DeleteFunc(of, func(id string, _ *Node) bool { return dir != "" && !fleet.IsWithin(id, dir) })
			d.distribute(name, dir, of)
		}
	}
	for _, dir := range sortedKeys(d.layers) {
		if err := w.writeSecretLayer(dir, d.layers[dir], used); err != nil {
			return err
		}
	}
	return nil
}

// writeSecretLayer plans the file with the secrets of a layer.
func (w *work) writeSecretLayer(dir string, layer *Node, used map[string]bool) error {
	plain, referring := w.divideReferences(dir, layer)
	p := &cuePrinter{used: used}
	p.WriteString("package fleet\n")
	if len(plain.Fields) > 0 {
		p.WriteString("\nsecrets: ")
		p.value(plain)
		p.WriteString("\n")
	}
	if len(referring.Fields) > 0 {
		p.WriteString("\n// Secrets that follow from the facts of the cluster.\nif cluster.name != _|_ {\n\tsecrets: ")
		p.depth++
		p.value(referring)
		p.WriteString("\n}\n")
	}
	return w.addCUE(path.Join("environments", dir, "secrets.cue"), p.Bytes())
}

// noteReferences stores the references to the secrets of the compiled cluster.
func (c *Cluster) noteReferences(compiled *fleet.Cluster) {
	c.references = map[string]string{}
	for _, s := range compiled.Secrets {
		c.references[s.Name] = s.Reference()
	}
}

// bind adds the digests of a cluster's secrets to the references in decoded JSON, as the
// compiled fleet has them.
func (c *Cluster) bind(v any) any {
	return fleet.MapReferencesIn(v, func(reference, name string) string { return cmp.Or(c.references[name], reference) })
}
