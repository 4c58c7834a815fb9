// The function that the demo's agent works on.  Nothing here is ever run.
const users = require('./users');

function login(name, password, done) {
  users.find(name, function (err, user) {
    if (err) return done(err);
    if (!user) return done(null, false);
    users.verify(user, password, function (err, ok) {
      if (err) return done(err);
      users.startSession(user, function (err, session) {
        done(err, ok && session);
      });
    });
  });
}

module.exports = { login };
