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

// MayHave returns a function that reports whether the user may have the right to the verb on
// a resource in a namespace. Only its result false is certain: rules can be incomplete.
func (c *Cluster) MayHave(ctx context.Context, verb, namespace string) (func(group, resource string) bool, error) {
	review := &authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := result(ctx, c.retry, func(ctx context.Context) (*authorization.SelfSubjectRulesReview, error) {
		return c.reviews.SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, err
	}
	rules := answer.Status
	return func(group, resource string) bool {
		return rules.Incomplete || slices.ContainsFunc(rules.ResourceRules, func(r authorization.ResourceRule) bool {
			return len(r.ResourceNames) == 0 && matches(r.Verbs, verb) && matches(r.APIGroups, group) && matches(r.Resources, resource)
		})
	}, nil
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
