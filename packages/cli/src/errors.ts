/** A mistake of who typed the command: exit code 2. */
export class UsageError extends Error {
  /** What `--help` is to be asked of: a command's name, or '' for all of them. */
  readonly topic: string

  constructor(message: string, topic = '') {
    super(message)
    this.topic = topic
  }
}

/** What is wrong was said by a flag or by the environment, which the message names: the configuration file has no part in it. */
export class OutsideError extends Error {}

/** What went wrong, in one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''

/** The code of an error of Node's (`ENOENT`), or undefined. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Several problems of one configuration, a line for each. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}

/** Each problem that an error reports, in one line. The errors of `createGateway` have several, too. */
export function problemsOf(error: unknown): readonly string[] {
  const problems: unknown = error instanceof Error && 'problems' in error ? error.problems : undefined
  return Array.isArray(problems) ? problems.map(String) : [messageOf(error)]
}

/** The same error, under the name of the file that it is about. */
export function inFile(file: string | undefined, error: unknown): unknown {
  const problems = problemsOf(error)
  if (file === undefined || problems.every((problem) => problem.startsWith(`${file}:`))) return error
  return new ConfigurationError(
    problems.map((problem) => (problem.startsWith(`${file}:`) ? problem : `${file}: ${problem}`)),
    { cause: error },
  )
}
