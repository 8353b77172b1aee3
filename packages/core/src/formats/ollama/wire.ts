import { lazy } from '../../base/async.ts'
import type { ClientWireCodec } from '../codec.ts'
import { modelPlaces, routerPlaces } from '../shared/model-places.ts'
import { rateLimitHeaders } from '../shared/rate-limit-headers.ts'
import { encodeError } from './error.ts'

const loadIdle = () => import('./idle.ts')

/** The part of Ollama's codec that every call needs. */
export const ollamaWire: ClientWireCodec = {
  format: 'ollama',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('./model-list.ts')),
  encodeError,
  textFields: textFields('content'),
  modelPlaces: modelPlaces(routerPlaces),
  affinity: { keys: [], tools: 'tools', prefix: [], turns: 'messages' },
  outputBound: { fields: ['options.num_predict'] },
  encodeAllowance: rateLimitHeaders,
  loadResponseWithoutModel: lazy(() => loadIdle().then(({ idleChatResponse }) => idleChatResponse)),
}

/** The same for `/api/generate`. */
export const ollamaGenerateWire: ClientWireCodec = {
  ...ollamaWire,
  dialect: 'ollama-generate',
  textFields: textFields('response'),
  affinity: { keys: [], prefix: ['system'], turns: 'prompt' },
  loadResponseWithoutModel: lazy(() => loadIdle().then(({ idleGenerateResponse }) => idleGenerateResponse)),
}

function textFields(content: string): ClientWireCodec['textFields'] {
  const fields = [content, 'thinking', 'arguments']
  return { response: fields, event: fields }
}
