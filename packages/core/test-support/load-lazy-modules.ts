import { modelOperations } from '../src/operations/model-operations.ts'

/** Loads what the first calls would load: a test with fake timers cannot wait for an import. */
export const loadLazyModules = (): Promise<unknown> =>
  Promise.all([
    import('../src/formats/codecs.ts'),
    import('../src/lanes/generation-translation.ts'),
    import('../src/operations/model-operations.ts'),
    import('../src/operations/count-tokens.ts'),
    ...Object.values(modelOperations).map((load) => load()),
    import('../src/operations/responses/index.ts'),
  ])
