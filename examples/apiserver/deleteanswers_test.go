package apiserver_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// What a delete answers, and which finalizers it leaves, by what it says of what the object owns.
func TestDeleteAnswers(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	const jobs = "/apis/batch/v1/namespaces/default/jobs"
	job := `{"metadata":{"name":"o"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	held := configMap("o", `,"finalizers":["example.com/a"]`)
	for name, c := range map[string]struct {
		path, object, query, body string
		code                      int
		kind                      string
		finalizers                []string
	}{
		"gone":                         {configMaps, configMap("o", ""), "", "", 200, "Status", nil},
		"gone, orphanDependents=false": {configMaps, configMap("o", ""), "?orphanDependents=false", "", 200, "Status", nil},
		"held":                         {configMaps, held, "", "", 200, "ConfigMap", []string{"example.com/a"}},
		"held, orphanDependents=false": {configMaps, held, "", `{"orphanDependents":false}`, 202, "ConfigMap", []string{"example.com/a"}},
		"held, by the query":           {configMaps, held, "?orphanDependents=false", "", 202, "ConfigMap", []string{"example.com/a"}},
		"orphanDependents=true":        {configMaps, configMap("o", ""), "", `{"orphanDependents":true}`, 200, "ConfigMap", []string{"orphan"}},
		"Orphan":                       {configMaps, configMap("o", ""), "", `{"propagationPolicy":"Orphan"}`, 200, "ConfigMap", []string{"orphan"}},
		"Foreground":                   {configMaps, configMap("o", ""), "?propagationPolicy=Foreground", "", 200, "ConfigMap", []string{"foregroundDeletion"}},
		"Background":                   {configMaps, configMap("o", ""), "", `{"propagationPolicy":"Background"}`, 200, "Status", nil},
		"both":                         {configMaps, held, "", `{"orphanDependents":false,"propagationPolicy":"Orphan"}`, 422, "Status", []string{"example.com/a"}},
		"unknown":                      {configMaps, held, "?propagationPolicy=Sideways", "", 422, "Status", []string{"example.com/a"}},
		"a job's pods stay":            {jobs, job, "", "", 200, "Job", []string{"orphan"}},
		"a job's pods go":              {jobs, job, "", `{"propagationPolicy":"Background"}`, 200, "Status", nil},
		"a pod that no node runs":      {pods, pod("o", ""), "", `{"orphanDependents":false}`, 200, "Pod", nil},
		"a pod on a node":              {pods, pod("o", `,"nodeName":"n"`), "", `{"orphanDependents":false}`, 202, "Pod", []string{}},
		"less than no grace":           {pods, pod("o", `,"nodeName":"n"`), "?gracePeriodSeconds=-5", "", 200, "Pod", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{t: t, server: a.server, client: a.client}
			a.must("POST", c.path, c.object)
			got := a.do("DELETE", c.path+"/o"+c.query, c.body)
			require.Equal(t, c.code, got.code, got.body)
			require.Equal(t, c.kind, got.object(t).Kind)
			left := a.do("GET", c.path+"/o", "")
			if c.finalizers == nil {
				require.Equal(t, 404, left.code)
				return
			}
			require.ElementsMatch(t, c.finalizers, left.object(t).Metadata.Finalizers)
			a.do("PATCH", c.path+"/o", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
			a.do("DELETE", c.path+"/o?gracePeriodSeconds=0", `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
			require.Equal(t, 404, a.do("GET", c.path+"/o", "").code)
		})
	}
}

// Who writes a marked object ends it; the delete that has marked it succeeds all the same.
func TestDeleteWhileWritten(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for i := range 30 {
		path := fmt.Sprintf("%s/p-%d", pods, i)
		a.must("POST", pods, pod(fmt.Sprintf("p-%d", i), `,"nodeName":"n"`))
		var writer sync.WaitGroup
		for w := range 3 {
			writer.Go(func() {
				for n := range 10 {
					body := fmt.Sprintf(`{"metadata":{"annotations":{"w%d":"%d"}}}`, w, n)
					if code := a.do("PATCH", path, body, "Content-Type", "application/merge-patch+json").code; code != 200 && code != 404 && code != 409 {
						t.Errorf("patch: %d", code)
					}
				}
			})
		}
		got := a.do("DELETE", path+"?gracePeriodSeconds=0", "")
		writer.Wait()
		require.Equal(t, 200, got.code, got.body)
		require.Equal(t, 404, a.do("GET", path, "").code)
	}
}
