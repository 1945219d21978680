package validate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// expressions use features of every CEL library for rules, and of none.
var expressions = []string{
	"self == 'a'", "self.matches('^a') && self.size() < 5", "[self].exists(x, x == 'a')", "self.split(',').all(x, x != '')",
	"type(self) == string", "duration(self) > duration('1s')", "self in ['a', 'b']",
	"self.replace('a', 'b').lowerAscii() == 'b'", "self.find('[0-9]') != ''", "isURL(self) && url(self).getHost() == 'x'", "size(self) < 2.0",
	"optional.of(self).orValue('') == self", "[self][?0].hasValue()", "isQuantity(self)", "quantity(self).isLessThan(quantity('1'))",
	"'%s'.format([self]) == 'a'", "strings.quote(self) == ''", "sets.contains([self], ['a'])", "isIP(self)",
	"cidr('10.0.0.0/8').containsIP(self)", "type(ip('1.1.1.1')) == net.IP", "string(ip(self)) == self", "ip(self).family() == 4",
	"!format.dns1123Label().validate(self).hasValue()", "format.named('uuid').hasValue()", "self.split(',').all(i, x, i < 3 && x != '')",
	"self.split(',').existsOne(i, x, x == 'a')", "isSemver(self)",
	"semver(self).major() > 1", "semver(self).compareTo(semver('1.0.0')) > 0", "self.split(',').distinct().size() == 1",
	"[[self], ['a']].flatten().size() == 2", "self.split(',').sort() == ['a']", "[3, 1].sortBy(x, x) == [1, 3]", "lists.range(3).size() == 3",
	"self.split(',').reverse() == ['a']", "self.split(',').slice(0, 1) == ['a']",
}

// TestCELDifferences tests that rules which are not compiled for an older version are
// supported by it.
func TestCELDifferences(t *testing.T) {
	var k CRDChecker
	found, passed := 0, 0
	for i, e := range expressions {
		rule := fmt.Sprintf("{rule: %q}", e)
		if i%3 == 2 {
			rule = fmt.Sprintf("{rule: 'true', messageExpression: %q}", "("+e+") ? 'a' : 'b'")
		}
		text := strings.Replace(gadgets, "a: {type: string}", "a: {type: string, maxLength: 50, x-kubernetes-validations: ["+rule+"]}", 1)
		d, ok := read(customObjects(t, text)[0])
		if !ok {
			t.Fatalf("%s is not a CRD", text)
		}
		if len(k.validate(d, newest())) > 0 {
			t.Errorf("%s is invalid for the newest version, too", e)
			continue
		}
		for compat := minor(20); compat < newest(); compat++ {
			got := k.validate(d, compat)
			plain, _ := d.text()
			crd, _ := decode(plain)
			if want := unsupportedRules(crd, compat, map[string]bool{"": true}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s for 1.%d: %v, want %v", e, compat, got, want)
			} else if len(want) > 0 {
				found++
			}
			if !usesName(e, celDifferences(compat)) {
				passed++
			}
		}
	}
	if found < 250 || passed < 150 {
		t.Errorf("%d rules are too new, and %d need no check", found, passed)
	}
}
