package fleet

import (
	"regexp"
	"slices"
	"strings"
)

// wrongType matches what the JSON and YAML libraries say of a value of another type than that of Go.
var wrongType = regexp.MustCompile("(?:json: )?cannot unmarshal (?:!!)?(\\w+)(?: `[^`]*`)? into (?:Go (?:struct field \\w+\\.(\\S+)|value) of type )?(\\S+(?: {})?)")

// WrongTypeIn finds the fault of a value with a wrong type in a message of these libraries: the
// path of the field, which may be empty, and the words for both types.
func WrongTypeIn(msg string) (field, got, want string, ok bool) {
	m := wrongType.FindStringSubmatch(msg)
	if m == nil {
		return "", "", "", false
	}
	isEmbedded := func(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' }
	path := slices.DeleteFunc(strings.Split(m[2], "."), isEmbedded)
	return strings.Join(path, "."), TypeName(m[1]), TypeName(m[3]), true
}

// TypeName returns the words for a type of Go, JSON or YAML.
func TypeName(typ string) string {
	switch {
	case typ == "array" || typ == "seq" || typ == "slice" || strings.HasPrefix(typ, "[]"):
		return "a list"
	case typ == "string" || typ == "str" || typ == "timestamp":
		return "a string"
	case strings.HasPrefix(typ, "bool"):
		return "true or false"
	case strings.HasPrefix(typ, "number") || strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "uint") || strings.HasPrefix(typ, "float"):
		return "a number"
	}
	return "a map"
}
