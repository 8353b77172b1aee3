/** The environment's variables. */
export type Env = { [name: string]: string | undefined }

/** What a command knows of where it runs. */
export interface World {
  /** Lines of a `.env` file are put into it. */
  readonly env: Env
  /** The working directory. */
  readonly cwd: string
  /** How this program is called, for lines to paste: `npx modelgate`. */
  readonly command: string
  out(text: string): void
  err(text: string): void
}
