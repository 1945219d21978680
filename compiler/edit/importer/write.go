package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fleetc/fleetc/compiler/edit"
)

// bodyOrder is the order of the fields of a release.
var bodyOrder = []string{"namespace", "clusters", "depends", "chart", "jsonnet", "kustomize", "manifests", "values", "patches", "ownership", "actions", "health", "open", "duplicateKeys", "random", "objects"}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// writeLayers plans the CUE files of all layers.
func (w *work) writeLayers() error {
	bodies := map[string]map[string]*Node{}
	files := map[string]string{} // by release
	known := facts{}
	var ids []string
	for _, c := range w.model.Clusters {
		ids = append(ids, c.ID)
		known[c.ID] = map[string]string{"": w.model.clusterName(c.ID)}
		for name, value := range c.Facts {
			known[c.ID][factName(name)] = value
		}
		for _, r := range c.Releases {
			if bodies[r.Name] == nil {
				bodies[r.Name], files[r.Name] = map[string]*Node{}, fileName(r.Namespace)
			}
			bodies[r.Name][c.ID] = w.body(r)
		}
	}
	used := map[string]bool{}
	ids = append(ids, w.existing...)
	layers := divide(ids, bodies, known)
	for _, dir := range sortedKeys(layers) {
		parts := map[string][]Field{} // by file
		for _, part := range layers[dir].Fields {
			parts[files[part.Key]] = append(parts[files[part.Key]], part)
		}
		for file, of := range parts {
			if err := w.writeLayer(dir, file, mapNode(of...), used); err != nil {
				return err
			}
		}
	}
	if err := w.writeSecrets(ids, known, used); err != nil {
		return err
	}
	return w.writeClusters(known, used)
}

// fileName returns the name of the file with the releases of a namespace.
func fileName(namespace string) string {
	switch namespace {
	case "fleet", "cluster", "env", "secrets":
		return namespace + "-namespace.cue"
	}
	return namespace + ".cue"
}

// clusterName returns the name of a cluster: the last element of its ID, or the whole
// ID with dashes if another cluster has the same last element.
func (m *Model) clusterName(id string) string {
	for _, c := range m.Clusters {
		if c.ID != id && path.Base(c.ID) == path.Base(id) {
			return strings.ReplaceAll(id, "/", "-")
		}
	}
	return path.Base(id)
}

// factName returns the name of a fact for a variable: CLUSTER_DOMAIN is clusterDomain.
func factName(variable string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(variable, "_") {
		switch {
		case word == "":
		case b.Len() == 0:
			b.WriteString(strings.ToLower(word[:1]) + lowerWord(word[1:]))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + lowerWord(word[1:]))
		}
	}
	if b.Len() == 0 {
		return "variable"
	}
	return b.String()
}

// lowerWord returns a word in lower case, unless it has both cases already.
func lowerWord(word string) string {
	if strings.ToUpper(word) == word {
		return strings.ToLower(word)
	}
	return word
}

// writeLayer plans a file with parts of releases in a layer. used has the facts that it refers to.
func (w *work) writeLayer(dir, file string, parts *Node, used map[string]bool) error {
	p := &cuePrinter{used: used}
	var imports []string
	plain, referring := w.divideReferences(dir, parts)
	for _, part := range plain.Fields {
		if pkg := part.Value.Get(packageField); pkg != nil {
			imports = append(imports, path.Join(w.module, "environments/charts", pkg.Scalar.(string)))
		}
		p.WriteString("\n")
		p.release(dir, part)
	}
	if len(referring.Fields) > 0 {
		p.WriteString("\n// Values that follow from the facts of the cluster.\nif cluster.name != _|_ {\n")
		p.depth++
		for _, part := range referring.Fields {
			p.release(dir, part)
		}
		p.depth--
		p.WriteString("}\n")
	}
	var b bytes.Buffer
	b.WriteString("package fleet\n")
	if p.encodes {
		imports = append(imports, "encoding/base64")
	}
	slices.Sort(imports)
	if imports = slices.Compact(imports); len(imports) == 1 {
		fmt.Fprintf(&b, "\nimport %s\n", quote(imports[0]))
	} else if len(imports) > 1 {
		b.WriteString("\nimport (\n")
		for _, i := range imports {
			fmt.Fprintf(&b, "\t%s\n", quote(i))
		}
		b.WriteString(")\n")
	}
	b.Write(p.Bytes())
	return w.addCUE(path.Join("environments", dir, file), b.Bytes())
}

// addCUE formats a file and plans it.
func (w *work) addCUE(name string, text []byte) error {
	formatted, err := edit.FormatSource(w.stage, name, text)
	if err != nil {
		return fmt.Errorf("format %s: %w", name, err)
	}
	w.files[name] = formatted
	return nil
}

// divideReferences divides a map of a layer into its fields without references to facts of
// the cluster and those with references. In a cluster, all facts are known.
func (w *work) divideReferences(dir string, n *Node) (plain, referring *Node) {
	if slices.ContainsFunc(w.model.Clusters, func(c *Cluster) bool { return c.ID == dir }) {
		return n, mapNode()
	}
	plain, referring = divideReferences(n)
	return cmp.Or(plain, mapNode()), cmp.Or(referring, mapNode())
}

// divideReferences is [work.divideReferences] for a node of a layer above the clusters; nil
// for none.
func divideReferences(n *Node) (plain, referring *Node) {
	switch {
	case !n.hasReference():
		return n, nil
	case !n.IsMap:
		return nil, n
	}
	plain, referring = mapNode(), mapNode()
	for _, f := range n.Fields {
		a, b := divideReferences(f.Value)
		if a != nil {
			plain.Fields = append(plain.Fields, Field{f.Key, a})
		}
		if b != nil {
			referring.Fields = append(referring.Fields, Field{f.Key, b})
		}
	}
	if len(plain.Fields) == 0 {
		plain = nil
	}
	return plain, referring
}

// release writes a part of a release in the layer of a directory.
func (p *cuePrinter) release(dir string, part Field) {
	body := mapNode()
	for _, key := range bodyOrder {
		if v := part.Value.Get(key); v != nil {
			if key == "values" {
				key, v = "defaults", mapNode(Field{path.Base("root/" + dir), v}) // by the name of the layer
			}
			body.Set(key, v)
		}
	}
	p.indent()
	p.WriteString("releases: " + quote(part.Key) + ": ")
	switch pkg := part.Value.Get(packageField); {
	case pkg != nil:
		p.WriteString(pkg.Scalar.(string) + ".#Release & ")
		p.value(body)
	case len(body.Fields) == 1:
		p.chain(body.Fields[0].Key, body.Fields[0].Value)
	default:
		p.value(body)
	}
	p.WriteString("\n")
}

// writeClusters plans the file of each cluster, and those of their environments.
func (w *work) writeClusters(known facts, used map[string]bool) error {
	for _, c := range w.model.Clusters {
		environment, _, ok := strings.Cut(c.ID, "/")
		file := path.Join("environments", environment, "env.cue")
		if ok && (w.before[file] != "" || !w.hasExisting(environment)) {
			text := "package fleet\n\nenvironment: " + quote(environment) + "\n"
			if err := w.addCUE(file, []byte(text)); err != nil {
				return err
			}
		}
		cluster := mapNode(Field{"name", textNode(w.model.clusterName(c.ID))}, Field{"kubernetes", textNode(c.Kubernetes)})
		if c.Context != "" {
			cluster.Set("context", textNode(c.Context))
		}
		if c.UID != "" {
			cluster.Set("uid", textNode(c.UID))
		}
		of := maps.Clone(known[c.ID])
		maps.DeleteFunc(of, func(name, _ string) bool { return !used[name] })
		cluster.setFilled("labels", nodeOf(anyMap(c.Labels), nil))
		cluster.setFilled("facts", nodeOf(anyMap(of), nil))
		cluster.setFilled("apis", apisNode(c.apis))
		gitops := decryption(c, cluster)
		p := &cuePrinter{}
		p.WriteString("package fleet\n\n")
		p.field("cluster", cluster)
		text := strings.Replace(p.String(), `"cluster": `, "cluster: ", 1)
		text += gitops
		if c.ApplyOnly {
			text += "\n// The cluster is applied to, and not exported.\ngitops: layouts: []\n"
		}
		if err := w.addCUE(path.Join("environments", c.ID, "cluster.cue"), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// decryption adds the keys for which exports encrypt secrets to a cluster that Flux syncs,
// and returns the text that lets Flux decrypt them.
func decryption(c *Cluster, cluster *Node) string {
	if len(c.Secrets) == 0 || len(c.Age) == 0 {
		return ""
	}
	cluster.Set("sops", mapNode(Field{"age", textNodes(slices.Compact(slices.Sorted(slices.Values(c.Age))))}))
	text := "\n// Flux decrypts the secrets with one of the keys in cluster.sops.\ngitops: {\n\tlayouts: [\"flux\"]\n"
	if c.SOPSSecret != "" {
		text += "\tflux: decryptionSecret: " + quote(c.SOPSSecret) + "\n"
	}
	return text + "}\n"
}
