export { type AccessLog, type AccessLogOptions, accessLog } from './access-log.ts'
export type { LogLevel } from './levels.ts'
export type { LevelLogger } from './messages.ts'
