export type { CallInfo, RequestEvent } from './base/events.ts'
export { type OtelOptions, otel } from './otel.ts'
