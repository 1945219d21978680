package diag

import (
	"fmt"
	"regexp"
)

// releaseKey matches a key of a field of a release whose keys name objects.
var releaseKey = regexp.MustCompile(`^releases\.(?:"[^"]*"|[^."]*)\.(random|plaintext|secretsIn)\.("[^"]*"|[^."]*)$`)

// releaseKeys say how to write these keys.
var releaseKeys = map[string]string{
	"random":    `write "KIND/NAME FIELD", as in random: "Secret/grafana data.admin-password": keep: true`,
	"plaintext": `write "Secret/NAME", as in plaintext: "Secret/login": "why", or values`,
	"secretsIn": `write "KIND/NAME", as in secretsIn: "ConfigMap/web": "why"`,
}

// releaseKey explains a key that does not name an object. It reports false for other fields.
func (x *explanation) releaseKey() bool {
	m := releaseKey.FindStringSubmatch(x.Path)
	if m != nil {
		x.Msg, x.Hint = fmt.Sprintf("%q is not a valid key of %s", unquoted(m[2]), m[1]), releaseKeys[m[1]]
	}
	return m != nil
}
