import type { ErrorInfo } from '../../base/errors.ts'
import { stringifyExact } from '../../base/json/exact-number.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import { errorBody } from './error.ts'

export const ping: SseEvent = { event: 'ping', data: '{"type":"ping"}' }
export const errorEvent = (error: ErrorInfo): SseEvent => ({ event: 'error', data: stringifyExact(errorBody(error)) })
