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

/** The same error, under the name of the file that it is about. */
export function inFile(file: string | undefined, error: unknown): unknown {
  const message = messageOf(error)
  return file === undefined || message.startsWith(`${file}:`)
    ? error
    : new Error(`${file}: ${message}`, { cause: error })
}
