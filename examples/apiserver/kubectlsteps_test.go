package apiserver_test

import (
	"strings"

	"github.com/stretchr/testify/require"
)

const (
	nodes       = "/api/v1/nodes"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
	replicaSets = "/apis/apps/v1/namespaces/default/replicasets"
)

// template is a pod template of a container.
func template(app string) string {
	return `{"metadata":{"labels":{"app":"` + app + `"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
}

// prepare makes what the commands are about.
func (k *kubectl) prepare() {
	k.t.Helper()
	k.must("POST", nodes, `{"metadata":{"name":"n1"}}`)
	for _, name := range []string{"p1", "waiting", "watched", "gone", "labelled"} {
		k.must("POST", pods, strings.Replace(pod(name, ""), `"metadata":{`, `"metadata":{"labels":{"app":"`+name+`"},`, 1))
	}
	k.must("POST", pods, pod("graceful", `,"nodeName":"n1"`))
	k.must("POST", widgets, widget("w1", ""))
	k.must("POST", "/api/v1/namespaces/default/events", `{"metadata":{"name":"e1"},"reason":"Seen","message":"an event","type":"Normal",
		"involvedObject":{"kind":"Pod","namespace":"default","name":"p1"},"firstTimestamp":"2026-11-30T08:00:00Z","lastTimestamp":"2026-11-30T08:00:00Z"}`)
	spec := `"spec":{"replicas":1,"selector":{"matchLabels":{"app":"web"}},"template":` + template("web") + `}}`
	k.must("POST", deployments, `{"metadata":{"name":"web"},`+spec)
	k.must("POST", replicaSets, `{"metadata":{"name":"rs"},`+spec)
}

// manifest is a config map in YAML.
func manifest(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  labels: {kind: manifest}\ndata:\n  key: " + value + "\n"
}

func kubectlSteps() []step {
	var all []step
	for _, steps := range [][]step{
		readSteps(), writeSteps(), changeSteps(), createSteps(), quotaSteps(), definitionSteps(), watchSteps(), deleteSteps(),
	} {
		all = append(all, steps...)
	}
	return all
}

func readSteps() []step {
	return []step{
		{line: "version", want: []string{`Server Version: v\d+\.\d+\.\d+`}},
		{line: "api-resources", want: []string{`(?m)^pods +po +v1 +true +Pod$`, `(?m)^widgets +wd +wire.example.com/v1 +true +Widget$`,
			`(?m)^deployments +deploy +apps/v1 +true +Deployment$`}},
		{line: "api-versions", want: []string{`(?m)^apps/v1$`, `(?m)^v1$`}},
		{line: "get pods", want: []string{`NAME +READY +STATUS +RESTARTS +AGE\n`, `p1 +0/1 +Pending +0 +\d+s\n`}},
		{line: "get pods -o yaml", want: []string{`(?m)^kind: List$`, `(?m)^    name: p1$`}},
		{line: "get pods -o json", want: []string{`"kind": "List"`}},
		{line: "get pods -o name", want: []string{`(?m)^pod/p1$`}},
		{line: "get pods -A -l app=p1", want: []string{`^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE\ndefault +p1 +0/1 +Pending +0 +\d+s\n$`}},
		{line: "get pod p1 -o wide", want: []string{`IP +NODE +NOMINATED NODE +READINESS GATES\n`, `<none> +<none> +<none> +<none>\n`}},
		{line: "get pod missing", code: 1, want: []string{`Error from server \(NotFound\): pods "missing" not found`}},
		{line: "get pods --sort-by=.metadata.name", want: []string{`(?s)gone.*graceful.*p1.*waiting`}},
		{line: "get all", want: []string{`pod/p1 `, `deployment.apps/web +0/1 +0 +0 +\d+s`, `widget.wire.example.com/w1 `}},
		{line: "get nodes", want: []string{`NAME +STATUS +ROLES +AGE +VERSION\nn1 +Unknown +<none> +\d+s`}},
		{line: "get widgets", want: []string{`NAME +SIZE +COLOR +AGE\nw1 +1 +blue +\d+s`}},
		{line: "get events", want: []string{`LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n`, `Normal +Seen +pod/p1 +an event\n`}},
		{line: "events", want: []string{`Normal +Seen +Pod/p1 +an event`}},
		{line: "describe pod p1", want: []string{`Name: +p1\n`, `Image: +i\n`}},
		{line: "describe node n1", want: []string{`Name: +n1\n`, `Non-terminated Pods:`, `graceful`}},
		{line: "explain pod.spec.containers", want: []string{`KIND: +Pod\nVERSION: +v1\n`, `(?m)^  image\t<string>$`, `Docker image|Container image`}},
		{line: "auth can-i list pods", want: []string{`^yes\n`}},
		{line: "auth can-i --list", want: []string{`(?m)^\*\.\* +\[\] +\[\] +\[\*\]$`}},
		{line: "auth can-i list pods --as bob", code: 1, want: []string{`^no\n`}},
		{line: "get secrets --as bob", code: 1, want: []string{`Error from server \(Forbidden\): secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "default"`}},
		{line: "auth whoami", want: []string{`Username +system:admin`, `Groups +\[system:masters system:authenticated\]`}},
	}
}

func writeSteps() []step {
	return []step{
		{line: "create -f -", stdin: manifest("created", "before"), want: []string{`configmap/created created`}},
		{line: "apply -f - (new)", stdin: manifest("applied", "before"), want: []string{`configmap/applied created`}},
		{line: "apply -f - (the same)", stdin: manifest("applied", "before"), want: []string{`configmap/applied unchanged`}},
		{line: "apply -f - (a change)", stdin: manifest("applied", "changed"), want: []string{`configmap/applied configured`}},
		{line: "apply --server-side -f - (new)", stdin: manifest("server-side", "before"), want: []string{`configmap/server-side serverside-applied`}},
		{line: "apply --server-side -f - (what was applied by the client)", stdin: manifest("applied", "again"), want: []string{`configmap/applied serverside-applied`}},
		{line: "diff -f -", code: 1, stdin: manifest("created", "other"), want: []string{`(?m)^\+  key: other$`}},
		{line: "replace -f -", stdin: manifest("created", "replaced"), want: []string{`configmap/created replaced`}},
		{line: "replace --force -f -", stdin: manifest("created", "before"), want: []string{`configmap/created replaced`}},
		{line: "apply -f - (a custom resource)", stdin: widgetManifest(1), want: []string{`widget.wire.example.com/w2 created`}},
		{line: "apply -f - (a custom resource, a change)", stdin: widgetManifest(2), want: []string{`widget.wire.example.com/w2 configured`}},
	}
}

// definitionSteps define a kind, use it and take it away.
func definitionSteps() []step {
	return []step{
		{line: "apply -f - (a definition)", stdin: gadget(`{"type":"object","description":"What it is.","properties":{"size":{"type":"integer","description":"How large."}}}`,
			`,"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"}]`),
			want: []string{`customresourcedefinition.apiextensions.k8s.io/gadgets.test.example.com created`}},
		{line: "wait --for=condition=established crd/gadgets.test.example.com", want: []string{`gadgets.test.example.com condition met`}},
		{line: "get crd", want: []string{`NAME +CREATED AT\n`, `gadgets.test.example.com +\d{4}-`}},
		{line: "apply -f - (an object of it)", stdin: gadgetOf("g1", `{"size":7}`), want: []string{`gadget.test.example.com/g1 created`}},
		{line: "explain gadget.spec", want: []string{`What it is.`, `(?m)^  size\t<integer>$`, `How large.`}},
		{line: "get gadgets", want: []string{`NAME +SIZE\ng1 +7\n`}},
		{line: "delete crd gadgets.test.example.com", want: []string{`"gadgets.test.example.com" deleted`}},
	}
}

func widgetManifest(size int) string {
	return "apiVersion: wire.example.com/v1\nkind: Widget\nmetadata: {name: w2}\nspec: {size: " + string(rune('0'+size)) + "}\n"
}

func changeSteps() []step {
	return []step{
		{line: `patch configmap created -p '{"data":{"more":"x"}}'`, want: []string{`configmap/created patched`}},
		{line: "edit configmap created", want: []string{`configmap/created edited`}},
		{line: "label pod p1 tier=front", want: []string{`pod/p1 labeled`}},
		{line: "annotate pod p1 note=x", want: []string{`pod/p1 annotated`}},
		{line: "scale deployment web --replicas=3", want: []string{`deployment.apps/web scaled`}},
		{line: "scale rs rs --replicas=2", want: []string{`replicaset.apps/rs scaled`}},
		{line: "set image deployment/web c=j", want: []string{`deployment.apps/web image updated`}},
		{line: "rollout restart deployment web", want: []string{`deployment.apps/web restarted`}},
		{line: "rollout history deployment web", want: []string{`No rollout history found`}}, // nobody makes replica sets,
		{line: "cordon n1", want: []string{`node/n1 cordoned`}},
		{line: "uncordon n1", want: []string{`node/n1 uncordoned`}},
		{line: "drain n1 --dry-run=client --force", want: []string{`graceful`, `node/n1 drained \(dry run\)`}},
	}
}

func createSteps() []step {
	return []step{
		{line: "run ran --image=i", want: []string{`pod/ran created`}},
		{line: "create deployment made --image=i", want: []string{`deployment.apps/made created`}},
		{line: "create namespace made", want: []string{`namespace/made created`}},
		{line: "create configmap made --from-literal=a=b", want: []string{`configmap/made created`}},
		{line: "create role made --verb=list --resource=pods", want: []string{`role.rbac.authorization.k8s.io/made created`}},
		{line: "create rolebinding made --role=made --user=bob", want: []string{`rolebinding.rbac.authorization.k8s.io/made created`}},
		{line: "auth can-i --list --as bob", want: []string{`(?m)^pods +\[\] +\[\] +\[list\]$`}},
		{line: "create serviceaccount made", want: []string{`serviceaccount/made created`}},
		{line: "create token made", want: []string{`^[\w-]+\.[\w-]+\.[\w-]+\n$`}},
	}
}

// quotaSteps are about what a namespace may use. A quota shows what it has been charged for.
func quotaSteps() []step {
	return []step{
		{line: "create quota few --hard=pods=20,requests.cpu=1", want: []string{`resourcequota/few created`}},
		{line: "run boundless --image=i", code: 1, want: []string{`pods "boundless" is forbidden: failed quota: few: must specify requests.cpu for: boundless`}},
		{line: `run counted --image=i --overrides='{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"600m"}}}]}}'`,
			want: []string{`pod/counted created`}},
		{line: `run too-many --image=i --overrides='{"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"600m"}}}]}}'`, code: 1,
			want: []string{`exceeded quota: few, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`}},
		{line: "get quota", want: []string{`few +pods: \d+/20, requests.cpu: 600m/1`}},
		{line: "describe quota few", want: []string{`pods +\d+ +20\n`, `requests.cpu +600m +1\n`}},
		{line: "describe namespace default", want: []string{`Status: +Active`, `Resource Quotas`, `requests.cpu +600m +1\n`}},
		{line: "delete quota few", want: []string{`resourcequota "few" deleted`}},
		{line: "delete namespace default", code: 1, want: []string{`Error from server \(Forbidden\): namespaces "default" is forbidden: this namespace may not be deleted`}},
	}
}

// watchSteps are those that watch; what they watch for happens once they do.
func watchSteps() []step {
	watching := `watch=true.*200`
	return []step{
		{line: "get pods -w", want: []string{`watched +0/1 +Running `}, during: func(k *kubectl, out *output) {
			if out.until(watching) {
				k.setStatus(pods+"/watched", `{"phase":"Running"}`)
				out.until(`^watched +0/1 +Running`)
			}
			k.cutConnections()
		}},
		{line: "get pod watched -w", want: []string{`watched +0/1 +Failed `}, during: func(k *kubectl, out *output) {
			if out.until(watching) {
				k.setStatus(pods+"/p1", `{"phase":"Running"}`)
				k.setStatus(pods+"/watched", `{"phase":"Failed"}`)
				out.until(`^watched +0/1 +Failed`)
			}
			k.cutConnections()
		}},
		{line: "wait --for=condition=Ready pod/waiting", want: []string{`pod/waiting condition met`}, during: func(k *kubectl, out *output) {
			if out.until(watching) {
				k.setStatus(pods+"/waiting", `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`)
			}
		}},
		{line: "rollout status deployment web", want: []string{`deployment "web" successfully rolled out`}, during: func(k *kubectl, out *output) {
			if out.until(watching) {
				k.setStatus(deployments+"/web", `{"observedGeneration":100,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}`)
			}
		}},
	}
}

// setStatus replaces the status of an object.
func (k *kubectl) setStatus(path, status string) {
	k.t.Helper()
	object := k.do("GET", path, "").body
	before, _, ok := strings.Cut(object, `"status":`)
	require.True(k.t, ok, object)
	k.must("PUT", path+"/status", before+`"status":`+status+"}")
}

func deleteSteps() []step {
	return []step{
		{line: "delete pod gone", want: []string{`pod "gone" deleted`}},
		{line: "delete pod graceful", want: []string{`pod "graceful" deleted`}, during: func(k *kubectl, out *output) {
			if out.until(`watch=true.*200`) {
				require.Equal(k.t, 200, k.do("DELETE", pods+"/graceful?gracePeriodSeconds=0", "").code)
			}
		}},
		{line: "delete -f -", stdin: manifest("created", ""), want: []string{`configmap "created" deleted`}},
		{line: "delete pod -l app=labelled", want: []string{`pod "labelled" deleted`}},
		{line: "delete pod p1 --force", want: []string{`pod "p1" force deleted`}},
		{line: "delete configmap --all", want: []string{`configmap "`}},
	}
}
