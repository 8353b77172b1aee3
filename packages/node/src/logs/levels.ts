/** Lowest level that is logged. `'silent'`: nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Level of one line. */
export type LineLevel = Exclude<LogLevel, 'silent'>

/** Numbers of pino. */
export const levelNumbers = {
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  silent: Number.POSITIVE_INFINITY,
} as const satisfies Readonly<Record<LogLevel, number>>
