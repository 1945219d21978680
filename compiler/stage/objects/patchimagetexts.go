package objects

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// An ImageText is a text in an object that may name a container image: in a custom
// resource, or in an argument or an environment variable of a container.
type ImageText struct {
	ImageField
	Sure bool // whether its name says that it is an image, and it begins with a registry
}

// ImageTexts returns the texts of each object of a cluster that may name images and are
// not in [Images]. Each is a reference with a tag or a digest: the whole text, or the part
// of an argument after the equals sign. Its name ends in image, such as the field
// sidecarImage, the flag --proxy-image or the variable PROXY_IMAGE, or it begins with a
// registry.
func ImageTexts(c *fleet.Cluster, objs []fleet.Object) [][]ImageText {
	a := newApplication(c)
	out := make([][]ImageText, len(objs))
	for i, o := range objs {
		if o.Unstructured == nil || isCRD(o) {
			continue
		}
		schema := a.schema(o)
		if schema != nil && !a.hasImages(schema) {
			continue
		}
		f := textFinder{isCustom: schema == nil}
		f.walk(o.Object, nil)
		out[i] = f.found
	}
	return out
}

// A textFinder finds the texts of one object.
type textFinder struct {
	isCustom bool // whether the object is a custom resource
	found    []ImageText
}

// walk finds the texts of a value. path is valid during the call.
func (f *textFinder) walk(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && len(path) > 1 && path[len(path)-2] == "env" {
			f.add(v["value"], append(path, "value"), name)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[key].(string); ok {
				if f.isCustom && len(path) > 0 && path[0] != "metadata" {
					f.add(text, append(path, key), key)
				}
				continue
			}
			f.walk(v[key], append(path, key))
		}
	case []any:
		isArguments := len(path) > 0 && (path[len(path)-1] == "args" || path[len(path)-1] == "command")
		for i, element := range v {
			at := append(path, strconv.Itoa(i))
			if text, ok := element.(string); ok {
				if isArguments {
					f.argument(v, i, text, at)
				}
				continue
			}
			f.walk(element, at)
		}
	}
}

// argument finds an image in the argument of a container: --flag=IMAGE, or IMAGE after
// the argument --flag.
func (f *textFinder) argument(all []any, i int, text string, path []string) {
	if flag, rest, ok := strings.Cut(text, "="); ok && strings.HasPrefix(flag, "-") {
		f.add(rest, path, flag)
		return
	}
	before := ""
	if i > 0 {
		before, _ = all[i-1].(string)
	}
	if !strings.HasPrefix(before, "-") {
		before = ""
	}
	f.add(text, path, before)
}

// add adds a text with a name if it may be an image.
func (f *textFinder) add(v any, path []string, name string) {
	text, ok := v.(string)
	if !ok || !fleet.IsPinnedImage(text) {
		return
	}
	named, hasRegistry := strings.HasSuffix(strings.ToLower(name), "image"), fleet.HasRegistry(fleet.ParseImage(text).Repository)
	if named || hasRegistry {
		f.found = append(f.found, ImageText{ImageField{slices.Clone(path), text}, named && hasRegistry})
	}
}
