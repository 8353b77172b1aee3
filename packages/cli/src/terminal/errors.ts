/** An invalid command line: exit code 2. */
export class UsageError extends Error {
  /** Command whose `--help` explains the usage; '' for the overview. */
  readonly topic: string

  constructor(message: string, topic = '') {
    super(message)
    this.topic = topic
  }
}

/** An invalid flag or environment variable, which the message names. Messages of this error do not name the configuration file. */
export class FlagOrEnvironmentError extends Error {}

/** Returns the first line of an error's message. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''

/** Returns the code of a Node error (`ENOENT`), or undefined. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** All problems of one configuration, one per line. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}

/** Returns each problem of an error as one line. Errors of `createGateway` also list several problems. */
export function problemsOf(error: unknown): readonly string[] {
  const problems: unknown = error instanceof Error && 'problems' in error ? error.problems : undefined
  return Array.isArray(problems) ? problems.map(String) : [messageOf(error)]
}

/** Prefixes each problem of an error with the file's name. */
export function inFile(file: string | undefined, error: unknown): unknown {
  const problems = problemsOf(error)
  if (file === undefined || problems.every((problem) => problem.startsWith(`${file}:`))) return error
  return new ConfigurationError(
    problems.map((problem) => (problem.startsWith(`${file}:`) ? problem : `${file}: ${problem}`)),
    { cause: error },
  )
}
