package kinds_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// What an update may not change, and how that is said. Each row has one body with what stands there before and after.
func TestUpdatesMayNotChange(t *testing.T) {
	const labels = `"metadata":{"labels":{"a":"b"}}`
	template := labels + `,"spec":{"containers":[{"name":"c","image":"IMAGE"}],"restartPolicy":"POLICY"}`
	onlyPods := "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
		"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
	sealed := ": Forbidden: field is immutable when `immutable` is set"
	for name, c := range map[string]struct {
		kind          *kinds.Kind
		body, old, to string
		want          string
	}{
		"pod image":                     {kinds.Pods(), `{"spec":{"containers":[{"name":"c","image":"$"}]}}`, "i", "j", ""},
		"pod node":                      {kinds.Pods(), `{"spec":{"containers":[{"name":"c"}],"nodeName":"$"}}`, "", "n", onlyPods},
		"pod name of a container":       {kinds.Pods(), `{"spec":{"containers":[{"name":"$"}]}}`, "c", "d", onlyPods},
		"pod one more":                  {kinds.Pods(), `{"spec":{"containers":[{"name":"c"}$]}}`, "", `,{"name":"d"}`, "spec.containers: Forbidden: pod updates may not add or remove containers"},
		"pod deadline":                  {kinds.Pods(), `{"spec":{"activeDeadlineSeconds":$}}`, "9", "5", ""},
		"pod deadline set":              {kinds.Pods(), `{"spec":{"activeDeadlineSeconds":$}}`, "null", "5", ""},
		"pod deadline longer":           {kinds.Pods(), `{"spec":{"activeDeadlineSeconds":$}}`, "5", "9", "spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value"},
		"pod deadline away":             {kinds.Pods(), `{"spec":{"activeDeadlineSeconds":$}}`, "5", "null", "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"},
		"pod toleration":                {kinds.Pods(), `{"spec":{"tolerations":[{"key":"a"}$]}}`, "", `,{"key":"b"}`, ""},
		"pod toleration for longer":     {kinds.Pods(), `{"spec":{"tolerations":[{"key":"a","tolerationSeconds":$}]}}`, "1", "2", ""},
		"pod toleration away":           {kinds.Pods(), `{"spec":{"tolerations":[$]}}`, `{"key":"a"}`, "", "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
		"pod gate away":                 {kinds.Pods(), `{"spec":{"schedulingGates":[$]}}`, `{"name":"g"}`, "", ""},
		"pod gate":                      {kinds.Pods(), `{"spec":{"schedulingGates":[$]}}`, "", `{"name":"g"}`, "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"},
		"pod grace":                     {kinds.Pods(), `{"spec":{"terminationGracePeriodSeconds":$}}`, "30", "1", onlyPods},
		"pod negative grace":            {kinds.Pods(), `{"spec":{"terminationGracePeriodSeconds":$}}`, "-1", "1", ""},
		"job template":                  {kinds.Jobs(), `{"spec":{"template":{` + strings.NewReplacer("IMAGE", "$", "POLICY", "Never").Replace(template) + `}}}`, "i", "j", "spec.template: Invalid value: "},
		"job parallelism":               {kinds.Jobs(), `{"spec":{"parallelism":$}}`, "1", "2", ""},
		"job completions":               {kinds.Jobs(), `{"spec":{"completions":$}}`, "1", "2", "spec.completions: Invalid value: 2: field is immutable"},
		"job selector":                  {kinds.Jobs(), `{"spec":{"selector":{"matchLabels":{"a":"$"}}}}`, "b", "c", `spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		"job suspended":                 {kinds.Jobs(), `{"spec":{"suspend":true,"template":{"spec":{"nodeSelector":{"a":"$"}}}}}`, "b", "c", ""},
		"job not suspended":             {kinds.Jobs(), `{"spec":{"template":{"spec":{"nodeSelector":{"a":"$"}}}}}`, "b", "c", "spec.template: Invalid value: "},
		"deployment":                    {kinds.Deployments(), `{"spec":{"selector":{"matchLabels":{"a":"$"}}}}`, "b", "c", `spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		"replica set":                   {kinds.ReplicaSets(), `{"spec":{"selector":{"matchLabels":{"a":"$"}}}}`, "b", "c", `spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable`},
		"replica set size":              {kinds.ReplicaSets(), `{"spec":{"replicas":$}}`, "1", "2", ""},
		"secret type":                   {kinds.Secrets(), `{"type":"$"}`, "a", "b", `type: Invalid value: "b": field is immutable`},
		"secret":                        {kinds.Secrets(), `{"data":{"a":"$"}}`, "eA==", "eQ==", ""},
		"immutable secret":              {kinds.Secrets(), `{"immutable":true,"data":{"a":"$"}}`, "eA==", "eQ==", "data" + sealed},
		"secret no longer immutable":    {kinds.Secrets(), `{"immutable":$}`, "true", "false", "immutable" + sealed},
		"secret from now on":            {kinds.Secrets(), `{"immutable":$}`, "false", "true", ""},
		"immutable config map":          {kinds.ConfigMaps(), `{"immutable":true,"data":{"a":"$"}}`, "x", "y", "data" + sealed},
		"immutable bytes":               {kinds.ConfigMaps(), `{"immutable":true,"binaryData":{"a":"$"}}`, "eA==", "eQ==", "binaryData" + sealed},
		"immutable config map's labels": {kinds.ConfigMaps(), `{"immutable":true,"metadata":{"labels":{"a":"$"}}}`, "x", "y", ""},
		"role binding":                  {kinds.RoleBindings(), `{"roleRef":{"kind":"Role","name":"$"}}`, "a", "b", `roleRef: Invalid value: {"apiGroup":"","kind":"Role","name":"b"}: cannot change roleRef`},
		"cluster role binding":          {kinds.ClusterRoleBindings(), `{"roleRef":{"kind":"ClusterRole","name":"$"}}`, "a", "b", `roleRef: Invalid value: {"apiGroup":"","kind":"ClusterRole","name":"b"}: cannot change roleRef`},
		"node's addresses":              {kinds.Nodes(), `{"spec":{"podCIDRs":["$"]}}`, "10.0.0.0/24", "10.0.1.0/24", `spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`},
		"node's first addresses":        {kinds.Nodes(), `{"spec":{"podCIDR":"$"}}`, "", "10.0.1.0/24", ""},
		"node's provider":               {kinds.Nodes(), `{"spec":{"providerID":"$"}}`, "a", "b", `spec.providerID: Forbidden: node updates may not change providerID except from "" to valid`},
		"node":                          {kinds.Nodes(), `{"spec":{"unschedulable":$}}`, "false", "true", ""},
		"endpoint slice":                {kinds.EndpointSlices(), `{"addressType":"$"}`, "IPv4", "IPv6", `addressType: Invalid value: "IPv6": field is immutable`},
		"service":                       {kinds.Services(), `{"spec":{"type":"ClusterIP","clusterIP":"$","clusterIPs":["$"]}}`, "10.0.0.1", "10.0.0.2", `spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`},
		"quota":                         {kinds.ResourceQuotas(), `{"spec":{"scopes":[$]}}`, "", `"BestEffort"`, `spec.scopes: Invalid value: ["BestEffort"]: field is immutable`},
		"lease":                         {kinds.Leases(), `{"spec":{"holderIdentity":"$"}}`, "a", "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			old, err := c.kind.Decode([]byte(strings.ReplaceAll(c.body, "$", c.old)))
			require.NoError(t, err)
			next, err := c.kind.Decode([]byte(strings.ReplaceAll(c.body, "$", c.to)))
			require.NoError(t, err)
			require.Empty(t, c.kind.ValidateUpdate(old, old))
			errs := c.kind.ValidateUpdate(next, old)
			if c.want == "" {
				require.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			require.Contains(t, errs[0].Error(), c.want)
		})
	}
}
