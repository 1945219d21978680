package cluster

import (
	"context"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Right is the permission for a verb on a resource.
type Right struct {
	Verb      string // API verb: get, patch
	Group     string
	Resource  string // with its subresource: pods, pods/log
	Namespace string // empty for all namespaces
}

// VerbRules returns a function that reports whether the user has a right to the
// verb on a resource in a namespace, and whether the rules are complete. Incomplete
// rules, and those about resources without namespaces, can only confirm a right.
func (c *Cluster) VerbRules(ctx context.Context, verb, namespace string) (may func(group, resource string) bool, whole bool, err error) {
	review := &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := result(ctx, c.retry, func(ctx context.Context) (*authorization.SelfSubjectRulesReview, error) {
		return c.reviews.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, false, err
	}
	rules := answer.Status
	return func(group, resource string) bool {
		return slices.ContainsFunc(rules.ResourceRules, func(r authorization.ResourceRule) bool {
			return len(r.ResourceNames) == 0 && matches(r.Verbs, verb) && matches(r.APIGroups, group) && matches(r.Resources, resource)
		})
	}, !rules.Incomplete, nil
}

func matches(rule []string, one string) bool {
	return slices.Contains(rule, one) || slices.Contains(rule, "*")
}

// May reports whether the user has a right. The zero Right stands for all rights.
func (c *Cluster) May(ctx context.Context, r Right) (bool, error) {
	a := &authorization.ResourceAttributes{Verb: r.Verb, Group: r.Group, Namespace: r.Namespace}
	a.Resource, a.Subresource, _ = strings.Cut(r.Resource, "/")
	if r == (Right{}) {
		a.Verb, a.Group, a.Resource = "*", "*", "*"
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: a}}
	answer, err := result(ctx, c.retry, func(ctx context.Context) (*authorization.SelfSubjectAccessReview, error) {
		return c.reviews.SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	})
	return err == nil && answer.Status.Allowed, err
}
