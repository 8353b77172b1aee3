export { type ConsoleOptions, consolePages } from './console-pages.ts'
