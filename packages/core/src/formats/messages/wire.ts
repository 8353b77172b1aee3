import { lazy } from '../../base/async.ts'
import type { WireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { encodeAllowance } from './allowance.ts'
import { decodeError, encodeError } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'
import { wireEdit } from './thread.ts'
import { unitsIn } from './usage-decode.ts'

/** The part of Anthropic Messages that every call needs. */
export const messagesWire: WireCodec = {
  format: 'messages',
  validation: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  decodeError,
  encodeError,
  wireEdit,
  isAnswer: ({ content }) => Array.isArray(content),
  tapResponse,
  tapStream,
  heldState: ['thread'],
  affinity: { keys: ['metadata.user_id'], prefix: ['tools', 'system'], turns: 'messages' },
  textFields: { answer: ['text', 'thinking', 'input'], event: ['text', 'thinking', 'partial_json'], mark: '_delta"' },
  unitsIn,
  outputBound: { fields: ['max_tokens'] },
  encodeAllowance,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names],
    chooses: routerPlaces.chooses,
    // Tools may be added in the middle of a conversation.
    alike: {
      ...routerPlaces.alike,
      ...toolPlaces.alike,
      'messages[].content[].tool.definition': 'tools',
      // What a compaction has kept of such changes.
      'messages[].content[].tool_changes[].tool.definition': 'tools',
    },
  }),
}
