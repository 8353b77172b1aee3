import { lazily } from '../../lazily.ts'
import type { UpstreamWireCodec } from '../codec.ts'
import { decodeError, tapResponse } from './error.ts'

/** The part of Converse that every call needs. */
export const converseWire: UpstreamWireCodec = {
  format: 'converse',
  whole: lazily(() => import('./codec.ts').then(({ converseCodec }) => converseCodec)),
  decodeError,
  tapResponse,
  modelInPath: { whole: '/{id}/converse', stream: '/{id}/converse-stream' },
  says: { answer: ['text', 'input'], event: ['text', 'input'] },
}
