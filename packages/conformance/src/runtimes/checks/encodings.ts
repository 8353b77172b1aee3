import { variantsOf } from '../../torture/check.ts'
import { askEncoded, encodingNames } from '../../torture/faults/encodings.ts'
import { failureDefect } from '../../torture/read-responses.ts'
import { type Case, type Check, type RuntimeTarget, tallyOf } from '../check.ts'

/**
 * Content encodings that are decoded although they were not requested. Deno decodes only what was requested, and the
 * gateway requests none.
 */
const undone = {
  'on-node.js': ['gzip', 'br', 'deflate'],
  'on-bun.js': ['gzip', 'br', 'deflate'],
  'on-deno.js': [],
  'on-workerd.js': ['gzip', 'br'],
} satisfies Readonly<Record<RuntimeTarget['pin']['program'], readonly string[]>>

/** Upstreams that compress responses although the request forbids it. */
export const encodings: Check = {
  name: 'encodings',
  promise:
    'responses compressed without being requested, each pair of formats, unstreamed and streamed: correct bytes, or an error in the dialect; gzip and br are decoded on Node, Bun and workerd',
  run({ strict: target, scriptedUpstream: upstream, pin }) {
    const must: readonly string[] = undone[pin.program]
    const cases = encodingNames.flatMap((name, at) =>
      variantsOf(target).map(
        (way, place): Case => ({
          name: `${name}, ${way.client} from ${way.upstream}${way.stream ? ', streamed' : ''}`,
          async ask() {
            const { answer, wrong } = await askEncoded({ target, upstream }, name, way, at + place)
            return must.includes(name) || failureDefect(way.client, answer) !== undefined ? wrong : undefined
          },
        }),
      ),
    )
    return tallyOf(cases, 8)
  },
}
