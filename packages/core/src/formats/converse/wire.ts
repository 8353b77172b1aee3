import { isObject } from '../../base/json/object.ts'
import type { UpstreamWireCodec } from '../codec.ts'
import { decodeError, tapResponse } from './error.ts'

/** The part of Converse that every call needs. */
export const converseWire: UpstreamWireCodec = {
  format: 'converse',
  decodeError,
  isAnswer: ({ output }) => isObject(output),
  tapResponse,
  modelInPath: { whole: '/{id}/converse', stream: '/{id}/converse-stream' },
  textFields: { answer: ['text', 'input'], event: ['text', 'input'] },
}
