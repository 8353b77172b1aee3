import { loadWires, registerFormats } from '../src/formats/codec-registry.ts'
import { everyFormat } from '../src/formats/every-format.ts'
import { modelOperations } from '../src/operations/model-operations.ts'

/** Loads what the first calls would load: a test with fake timers cannot wait for an import. */
export function loadLazyModules(): Promise<unknown> {
  registerFormats(everyFormat)
  return Promise.all([
    loadWires(['chat', 'messages', 'gemini', 'responses', 'converse']),
    import('../src/calls/hedge.ts'),
    import('../src/calls/relay-bytes.ts'),
    import('../src/calls/relay-stream.ts'),
    import('../src/formats/codecs.ts'),
    import('../src/formats/loss-header.ts'),
    import('../src/lanes/generation-translation.ts'),
    import('../src/operations/model-operations.ts'),
    import('../src/operations/count-tokens.ts'),
    import('../src/operations/responses/index.ts'),
    import('../src/routing/request-traits.ts'),
    import('../src/routing/target-cards.ts'),
    import('../src/upstreams/request-body-edits.ts'),
    ...Object.values(modelOperations).map((load) => load()),
  ])
}
