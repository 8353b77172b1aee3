import { ConfigurationError, OutsideError, problemsOf } from '../errors.ts'

/** Reports one problem, with what to write instead. */
export type ReportProblem = (message: string) => void

/** Throws at the first problem, for callers that do not collect them. */
export const throwProblem: ReportProblem = (message) => {
  throw new Error(message)
}

/** The problems of one configuration, which are reported all at once. */
export class ProblemList {
  readonly #inFile: string[] = []
  /** Problems of flags and of the environment. */
  readonly #outside: string[] = []

  get isEmpty(): boolean {
    return this.#inFile.length + this.#outside.length === 0
  }

  readonly report: ReportProblem = (message) => {
    this.#inFile.push(message)
  }

  /** Runs a part of the work. What it throws is reported, and the result is undefined. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      const list = error instanceof OutsideError ? this.#outside : this.#inFile
      list.push(...problemsOf(error))
      return undefined
    }
  }

  /** The error that reports all of them. @param file the name of the configuration file */
  toError(file: string | undefined): ConfigurationError {
    // A text whose variable is not set was reported as such: what else is wrong with it follows from that.
    const unset = this.#inFile.flatMap((problem) => /^\S+ takes (\w+) from the environment/.exec(problem)?.[1] ?? [])
    const own = this.#inFile.filter((problem) => !unset.some((name) => problem.includes(`\${${name}}`)))
    return new ConfigurationError([
      ...new Set([...own.map((problem) => (file === undefined ? problem : `${file}: ${problem}`)), ...this.#outside]),
    ])
  }
}
