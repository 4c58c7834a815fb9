// The second caller, which the agent's first plan does not know about.
const { login } = require('./login');

login(process.argv[2], process.argv[3], function (err, session) {
  console.log(err ? 'failed' : session ? 'welcome' : 'wrong name or password');
});
