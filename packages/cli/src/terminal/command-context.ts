/** Environment variables. */
export type Env = { [name: string]: string | undefined }

/** The parts of its process that a command uses; tests replace them. */
export interface CommandContext {
  /** The command adds the variables of `.env`. */
  readonly env: Env
  /** The working directory. */
  readonly cwd: string
  /** Command that runs this program, for lines to paste: `npx modelgate`. */
  readonly command: string
  /** Whether `out` writes to a terminal. Default: false. */
  readonly isTerminal?: boolean
  out(text: string): void
  err(text: string): void
}
