// Package inputs makes what the containers of a pod are given: their environment, and the files of their volumes.
//
// # Usage
//
//	in := inputs.Inputs{Pod: pod, Source: source, Dir: dir, HostIP: "10.0.0.1", PodIP: ip}
//	err := in.Volumes(ctx)
//	...
//	env, err := in.Env(ctx, &container)
//	mounts, err := in.Mounts(&container, env)
//
// # Guarantees
//
//  1. Environments are as the API defines them: later variables win, and $(NAME) is replaced by earlier ones. (TestEnv)
//  2. Fields of the pod and resources of its containers are given in the API's forms. (TestField, TestResource)
//  3. The files of a volume change all at once, and only when what they show has changed. (TestVolumes,
//     TestVolumesFollow)
//  4. What is missing and not optional is an error that names it. (TestMissing)
//  5. A path never leads out of its volume. (TestPathsStayInside)
//
// # Concurrency
//
// Volumes must not be called by two at once for one pod. The rest is safe for concurrent use.
//
// # Testing
//
// A [Source] is three functions.
package inputs
