// Package apiserver is the reference API server: the Kubernetes API for a handful of kinds, on
// etcd, for trying out list-watch clients against something real.
//
// # Usage
//
//	server, err := apiserver.Start(ctx, apiserver.Options{})
//	...
//	defer server.Close()
//	pods, err := rest.New[*corev1.Pod](server.URL()+"/api/v1/pods", rest.Options{})
//
// That one speaks plain HTTP on a loopback address and trusts everybody; with Options.Secure it speaks TLS and asks who
// sends a request. The command in cmd/apiserver runs one by itself, secure unless it is told otherwise.
//
// A server serves what kinds.Table lists, which is what the controllers of a cluster live on, and what
// CustomResourceDefinitions define. For each there are create, get, list, update, patch (JSON, merge, strategic and server-side apply), delete and watch, the
// subresources status, scale, binding, finalize and token where a kind has them, in JSON, YAML (but for watches) and, but for
// custom kinds, protobuf. Reviews are created only. What it does not offer it refuses.
//
// # Guarantees
//
//  1. It answers failures with the Status that the real server was recorded to send.
//     (TestRecordedStatuses)
//  2. A list is of one version, in pages too; which version is as with the real server.
//     (TestListVersions, TestPages, TestContinueExpires)
//  3. A watch delivers each version exactly once and in order. (TestManyWatchersEachVersionOnce)
//  4. A DELETED event has the last contents and the version of the deletion.
//     (TestDeletedHasTheDeletionsVersion)
//  5. What enters or leaves a selector is ADDED or DELETED. (TestSelectorTransitions,
//     TestFieldSelectorTransitions)
//  6. A watch whose history is gone gets one ERROR event with 410, and nothing before it.
//     (TestWatchOfCompactedHistory)
//  7. A write that changes nothing uses no version and makes no event.
//     (TestWriteOfNothingIsNoChange)
//  8. Deletion goes by finalizers, preconditions and grace. (TestDeletionRules,
//     TestGracefulDeletion)
//  9. A watch ends well when its time is over, the server is closed, or it was so slow that the history has
//     passed it, with a bookmark before the planned end; a client that does not read is cut off and loses nothing.
//     (TestWatchTimeouts, TestBookmarks, TestCloseEndsWatchesCleanly, TestSlowWatchIsCutOff)
//  10. What was answered survives a crash when a data directory was given, versions go on, and so do watches, without
//     a list. (TestKilledServerKeepsTheData, TestKilledUnderLoad)
//  11. Defaults, managed fields and what apply makes of them are as recorded.
//     (TestManagedFieldsAsRecorded, TestServerSideApply; package kinds has TestDefaultsAsRecorded)
//  12. A dry run answers as the write would, and changes nothing. (TestDryRun)
//  13. It passes the suite that the fake of this library passes, read through reflector/rest.
//     (TestConformanceConfigMaps, TestConformanceWidgets)
//  14. Lists, objects and watches come as tables or as metadata alone for who asks for that, with
//     the columns that the real server was recorded to show. (TestTables, TestTableWatch,
//     TestPartialMetadata)
//  15. Discovery, in both forms, says of each resource what the real server was recorded to say.
//     (TestRecordedDiscovery, TestAggregatedDiscovery)
//  16. A server without its etcd is not healthy. (TestUnhealthy)
//  17. kubectl can do with it what README.md says. (TestKubectlCommands)
//  18. client-go's informer, this library's and etcd agree when writers rest, whatever was cut off or compacted
//     meanwhile. (TestSoak)
//  19. A secure server lets nobody in without a certificate of its authority or a token that is good, and answers all
//     others as recorded. (TestUnauthorized, TestTLSOnly, TestCertificateExpiresOnAConnection)
//  20. Its kubeconfigs let in whom they are for, also after a restart. (TestKubeconfigs, TestSecureRestart)
//  21. A service account's token is good while the account, and what the token is bound to, are there.
//     (TestServiceAccountTokens, TestTokenRequestsAreRefused)
//  22. What it is told in confidence, it does not log. (TestNoSecretsInLogs)
//  23. Who may impersonate a user is taken for him. (TestImpersonation)
//  24. Reviews are created, and never stored. (TestReviewsAreCreatedAndNotStored)
//  25. This library's informer goes on when its token or its certificate is replaced. (TestInformerWithRotatingToken,
//     TestInformerWithRotatingCertificate)
//  26. With Options.RBAC a user does what roles, bindings and the rules of nodes allow and nothing else, whatever the path
//     looks like: what is authorized is what is served. (TestSecurityTable, TestPathTricks, FuzzAuthorizedIsServed)
//  27. What was written about roles is in force when it is answered, and gives nobody more than its writer has.
//     (TestRolesAreInForceAtOnce, TestEscalationIsForbidden)
//     A request in another's name is one of somebody who may impersonate him. (TestImpersonationNeedsRights)
//  28. A refusal is what the real server was recorded to send. (TestRecordedForbidden)
//  29. There are bounds for requests at a time, for their size and for their time; who is refused is told as
//     recorded. (TestMaxInFlight, TestRequestTimeout, TestSlowBody, TestHeaderLimits)
//  30. A server that is closed says first that it is not ready, then ends watches with a bookmark, and finishes what was
//     begun. (TestGracefulStop)
//  31. What it does is counted and logged, without a client's secrets and without an end of series.
//     (TestMetrics, TestMetricsAreBounded, TestAccessLog)
//  32. A request that panics is answered with 500. (TestPanicIsAnswered)
//  33. No two services have one address or one port of the nodes at a time, whoever asks at once and however often the
//     server was started. (TestServicesGetAddresses, TestNoTwoServicesHaveOneAddress)
//  34. An update changes nothing that is fixed. (TestServicesChangeTheirType; package kinds has TestUpdatesMayNotChange)
//  35. Requests that mean no good get an answer of the 4xx, in bounded memory, and change nothing.
//     (TestHostileRequests)
//  36. A watch in protobuf tells what one in JSON tells. (TestProtobufWatch, TestRecordedProtobufWatch)
//  37. A delete answers with the object when something keeps it, and with a Status else. (TestDeleteAnswers)
//  38. A kind is served once its definition says that it is established, also by a server that was started again, and is
//     discovered, described and watched like any other. (TestDefinition, TestDefinitionsSurviveRestart,
//     TestDefinedLater)
//  39. Logs, commands in containers, forwarded ports and paths of a node's proxy are passed on to the kubelet of the node, and
//     to nobody who is at its address in its place; what is wrong with a request is answered as by the real server.
//     (TestConnectAnswers, TestKubectlStreams, TestNodesThatPointElsewhere, TestKubeletsThatMisbehave)
//  40. A GET that becomes a stream needs the right to create, too. (TestConnectNeedsRights)
//  41. What is passed on is no load to the limits, and ends when the server is closed. (TestFollowedLogsEnd)
//  42. A pod that is evicted is deleted. (TestEviction)
//
// # Concurrency
//
// A [Server] is safe for concurrent use. When Close has returned nothing of it runs.
//
// # Testing
//
// A server starts in a tenth of a second, on a free port; [Server.Compact] and
// [Server.CutConnections] bring about what a client has to survive. Options.Clock moves
// bookmarks and timeouts. The layers below are packages of their own: etcd, storage, cacher, kinds,
// structural, crd, registry, and beside it admission and metrics.
package apiserver
