package values

import (
	"path"
	"strings"
)

// newObject adds an object with the key.
func (r *interpreter) newObject(key objectKey) *object {
	o := &object{id: len(r.objects) + 1, site: key.site}
	o.self = &value{objects: []*object{o}}
	r.objects[key] = o
	return o
}

// fieldOfRoot returns the field of the dot of a chart's templates.
func (r *interpreter) fieldOfRoot(root *chartRoot, name string) *value {
	out := r.fieldOfObject(root.extra, name)
	switch name {
	case "Values":
		return r.union(root.values.self, r.union(out, root.values.also))
	case "Files":
		return r.union(root.files.self, out)
	case "Template":
		o := r.made(root, name)
		r.put(o, "BasePath", textOf(path.Join(root.full, "templates")))
		r.put(o, "Name", textOf(wild))
		return r.union(o.self, out)
	case "Chart":
		o := r.made(root, name)
		r.put(o, "Name", textOf(root.name))
		for _, other := range []string{
			"Home", "Sources", "Version", "Description", "Keywords", "Maintainers", "Icon", "APIVersion", "Condition",
			"Tags", "AppVersion", "Deprecated", "Annotations", "KubeVersion", "Dependencies", "Type", "IsRoot",
		} {
			r.put(o, other, anything())
		}
		return r.union(o.self, out)
	case "Subcharts":
		o := r.made(root, name)
		for _, sub := range root.subs {
			r.put(o, sub.name, sub.self)
		}
		return r.union(o.self, out)
	case "Release", "Capabilities":
		return r.union(out, anything())
	}
	return out // Helm sets no other fields
}

// made returns the object for a field of the dot of a chart, which no expression makes.
func (r *interpreter) made(root *chartRoot, name string) *object {
	key := objectKey{call: -root.id, content: name}
	if o := r.objects[key]; o != nil {
		return o
	}
	return r.newObject(key)
}

// table evaluates .Values.Table and .Values.PathValue.
func (r *interpreter) table(p *place, names *value) *value {
	texts, ok := names.literal()
	if !ok {
		r.use(p.self, Printed)
		return anything()
	}
	var out *value
	for _, t := range texts {
		out = r.union(out, r.fields(p.self, strings.Split(t, ".")))
	}
	return out
}
