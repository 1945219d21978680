package load

import (
	"bytes"
	"path"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// Mentioning returns those of the clusters whose layers contain one of the words, which is
// quick to find out: others need not be evaluated to know that they do not set a field. It
// does not look into the file except.
func Mentioning(dir string, edits Edits, ids, words []string, except string) ([]string, error) {
	root, _, err := Root(dir)
	if err != nil {
		return nil, err
	}
	t, err := scan(root)
	if err != nil {
		return nil, err
	}
	layers := map[string]bool{} // whether a layer contains a word, by directory
	mentions := func(l fleet.Layer) bool {
		found, ok := layers[l.Dir]
		if !ok {
			found = slices.ContainsFunc(t.files[l.Dir], func(name string) bool {
				file := path.Join(l.Dir, name)
				text, err := edits.read(root, file)
				return err == nil && file != except && slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(text, []byte(word)) })
			})
			layers[l.Dir] = found
		}
		return found
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return !slices.ContainsFunc(t.layers(path.Join(environments, id)), mentions)
	}), nil
}
