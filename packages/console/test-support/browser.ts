// What browser tests of other packages use of this one's. Resolved in this workspace only, never published.
export { closeBrowser, open, withoutBrowser } from '../src/browser/browser.test-support.ts'
