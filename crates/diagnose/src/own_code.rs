//! Which methods are the application's own, and not those of the libraries and containers that it
//! is built on.
//!
//! A main class says so by its package. Where a launcher, a container or a jar was started, it does
//! not; then its own is what is of no well-known library.

use crate::waits::place::is_of_jdk;

/// Beginnings of packages of well-known containers, frameworks, drivers and libraries, by their
/// published coordinates. What is missing here counts as the application's own where the main class
/// does not say.
const LIBRARIES: [&str; 84] = [
    "akka.",
    "brave.",
    "ch.qos.logback.",
    "clojure.",
    "co.elastic.",
    "com.amazonaws.",
    "com.azure.",
    "com.codahale.",
    "com.couchbase.",
    "com.datastax.",
    "com.fasterxml.",
    "com.github.benmanes.caffeine.",
    "com.google.",
    "com.h2database.",
    "com.hazelcast.",
    "com.ibm.",
    "com.lmax.disruptor.",
    "com.mchange.",
    "com.microsoft.",
    "com.mongodb.",
    "com.mysql.",
    "com.netflix.",
    "com.rabbitmq.",
    "com.squareup.",
    "com.sun.",
    "com.zaxxer.",
    "feign.",
    "freemarker.",
    "graphql.",
    "groovy.",
    "io.dropwizard.",
    "io.ebean.",
    "io.grpc.",
    "io.helidon.",
    "io.jsonwebtoken.",
    "io.ktor.",
    "io.lettuce.",
    "io.micrometer.",
    "io.micronaut.",
    "io.netty.",
    "io.opentelemetry.",
    "io.prometheus.",
    "io.quarkus.",
    "io.reactivex.",
    "io.smallrye.",
    "io.swagger.",
    "io.undertow.",
    "io.vertx.",
    "jakarta.",
    "javassist.",
    "joptsimple.",
    "kotlin.",
    "kotlinx.",
    "liquibase.",
    "lombok.",
    "net.bytebuddy.",
    "net.jpountz.",
    "net.sf.",
    "nonapi.",
    "okhttp3.",
    "okio.",
    "oracle.",
    "org.aopalliance.",
    "org.apache.",
    "org.aspectj.",
    "org.bouncycastle.",
    "org.codehaus.",
    "org.eclipse.",
    "org.flywaydb.",
    "org.glassfish.",
    "org.h2.",
    "org.hibernate.",
    "org.jboss.",
    "org.jetbrains.",
    "org.jooq.",
    "org.mariadb.",
    "org.objectweb.asm.",
    "org.postgresql.",
    "org.slf4j.",
    "org.springframework.",
    "org.xnio.",
    "reactor.",
    "redis.clients.",
    "scala.",
];

/// What is the application's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnCode<'m> {
    /// Methods that begin so: the first two parts of the main class's package, `com.example.` of
    /// `com.example.shop.Main`.
    Package(&'m str),
    /// Methods of classes without a package, as the main class is one.
    NoPackage,
    /// What is neither the JDK's nor a well-known library's.
    NoLibrary,
}

impl<'m> OwnCode<'m> {
    /// By the name of a JVM: its main class, or the jar that it was started with.
    pub(crate) fn of(main: &'m str) -> Self {
        let is_class = !main.contains('/') && !main.ends_with(".jar");
        match package_of(main).filter(|_| is_class && !is_of_library(main)) {
            Some(package) => Self::Package(package),
            None if is_class && !main.is_empty() && !main.contains('.') => Self::NoPackage,
            None => Self::NoLibrary,
        }
    }

    /// Whether a method is one of the application's own.
    pub(crate) fn has(self, method: &str) -> bool {
        match self {
            Self::Package(package) => method.starts_with(package),
            Self::NoPackage => method.matches('.').count() <= 1,
            Self::NoLibrary => !is_of_jdk(method) && !is_of_library(method),
        }
    }
}

fn is_of_library(method: &str) -> bool {
    LIBRARIES.iter().any(|package| method.starts_with(package))
}

fn package_of(main: &str) -> Option<&str> {
    let mut dots = main.match_indices('.').map(|(at, _)| at + 1);
    let first = dots.next()?;
    Some(&main[..dots.next().unwrap_or(first)])
}

/// Classes that are made at run time, many of one name: parts of their names in the JDK.
const MADE: [&str; 4] = ["LambdaForm", "$$Lambda", "GeneratedMethodAccessor", "$Proxy"];

/// Whether many methods may have this name, each of a class that was made at run time.
pub(crate) fn is_made_at_run_time(method: &str) -> bool {
    MADE.iter().any(|part| method.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_class_says_what_is_its_own_and_a_launcher_does_not() {
        let own = OwnCode::of("com.example.shop.Main");
        assert_eq!(own, OwnCode::Package("com.example."));
        assert!(own.has("com.example.cart.Cart.add") && !own.has("com.zaxxer.hikari.HikariPool.get"));
        let own = OwnCode::of("Letters");
        assert!(own.has("Letters.render") && !own.has("org.thymeleaf.TemplateEngine.process"));
        let launchers = [
            "org.apache.catalina.startup.Bootstrap",
            "org.springframework.boot.loader.launch.JarLauncher",
            "/opt/shop/shop.jar",
            "shop.jar",
        ];
        for launcher in launchers {
            let own = OwnCode::of(launcher);
            assert_eq!(own, OwnCode::NoLibrary, "{launcher}");
            assert!(own.has("com.example.cart.Cart.add") && own.has("Main.run"));
            assert!(!own.has("org.apache.catalina.core.StandardWrapper.service"));
            assert!(!own.has("java.util.HashMap.get"));
        }
    }
}
