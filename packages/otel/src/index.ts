export type { CallInfo, RequestEvent } from './events.ts'
export { type OtelOptions, otel } from './otel.ts'
