import { stringifyExact } from '../../json/exact-number.ts'
import type { SseEvent } from '../codec.ts'
import type { ErrorInfo } from '../ir.ts'
import { errorBody } from './error.ts'

export const ping: SseEvent = { event: 'ping', data: '{"type":"ping"}' }
export const errorEvent = (error: ErrorInfo): SseEvent => ({ event: 'error', data: stringifyExact(errorBody(error)) })
